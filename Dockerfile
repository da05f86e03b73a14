# What ./learn needs, for macOS or wherever nothing should be installed. The clone itself stays outside and is mounted, so that
# exercises/ and whatever else the reader writes outlive the container. In the clone:
#   docker build -t flash-steps .
#   docker run -it --rm --user "$(id -u):$(id -g)" -v "$PWD":/flash-steps flash-steps
# It opens a shell in the clone, as the user whose clone it is, and ./learn tour works there. These are lines for a POSIX shell;
# Podman without root also needs --userns=keep-id, and SELinux wants :Z after /flash-steps.
FROM debian:12-slim

# Any user may be the one: also one whom /etc/passwd does not know, so HOME is named, and writable by all.
ENV HOME=/home/learner
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates cmake g++ git ninja-build \
        python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home learner \
 && chmod 1777 "$HOME"

USER learner
WORKDIR /flash-steps
CMD ["bash"]
