#include "../../simt/cub.h"
