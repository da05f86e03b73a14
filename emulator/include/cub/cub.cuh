/* Of CUB, what blocks and warps reduce, scan, load and store: simt/cub.h. What works on the whole device is refused. */
#include "../simt/cub.h"
#pragma simt_refuse <cub/cub.cuh> algorithms of the whole device: DeviceReduce DeviceScan DeviceRadixSort DeviceSelect DeviceHistogram DeviceFor DeviceMergeSort DevicePartition DeviceRunLengthEncode DeviceSegmentedReduce DeviceSegmentedRadixSort DeviceTransform
