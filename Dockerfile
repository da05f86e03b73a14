# Flash Steps for macOS and Windows, or wherever nothing should be installed:
#   docker build -t flash-steps . && docker run -it --rm flash-steps
FROM debian:12-slim

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates cmake g++ git ninja-build \
        python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home learner \
 && install -d -o learner /home/learner/flash-steps

USER learner
WORKDIR /home/learner/flash-steps
COPY --chown=learner . .
CMD ["./learn", "tour"]
