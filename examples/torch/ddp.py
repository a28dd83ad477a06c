#!/usr/bin/env python3
"""Data-parallel training with PyTorch over MPI, and so over STrack: a small network learns a function that is known.

    strack mpirun -n 4 python3 examples/torch/ddp.py [STEPS]

Debian's python3-torch has no MPI in it. MpiGroup below is a process group for DistributedDataParallel on mpi4py: what DDP asks
of one is broadcasts and gathers of its parameters at the start, and an AllReduce of each bucket of gradients. Tensors stay where they
are: MPI reads and writes their memory.
"""

import sys

import torch
import torch.distributed as dist
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel

OPERATIONS = {dist.ReduceOp.SUM: MPI.SUM, dist.ReduceOp.PRODUCT: MPI.PROD, dist.ReduceOp.MIN: MPI.MIN, dist.ReduceOp.MAX: MPI.MAX}


def done(result):
    """As a process group tells of it: work that has come to its end."""
    future = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


class MpiGroup(dist.ProcessGroup):
    def __init__(self, comm):
        super().__init__(comm.rank, comm.size)
        self.comm = comm

    def getBackendName(self):  # noqa: N802  (PyTorch's name)
        return "mpi4py"

    def allreduce(self, tensors, options):
        for tensor in tensors:
            self.comm.Allreduce(MPI.IN_PLACE, tensor.numpy(), OPERATIONS[options.reduceOp])
        return done(tensors)

    def broadcast(self, tensors, options):
        for tensor in tensors:
            self.comm.Bcast(tensor.numpy(), options.rootRank)
        return done(tensors)

    def allgather(self, outputs, inputs, options):
        for places, tensor in zip(outputs, inputs):
            for place, bytes_of in zip(places, self.comm.allgather(tensor.numpy())):
                place.copy_(torch.from_numpy(bytes_of))
        return done(outputs)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    torch.manual_seed(comm.rank)  # each starts elsewhere, until DDP makes them one
    model = torch.nn.Sequential(torch.nn.Linear(8, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1))
    model = DistributedDataParallel(model, process_group=MpiGroup(comm))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    first = last = None
    start = MPI.Wtime()
    for _ in range(steps):
        inputs = torch.randn(64, 8)  # each rank has data of its own
        loss = ((model(inputs) - inputs.sin().sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = comm.allreduce(loss.item()) / comm.size
        first = first if first is not None else last
    seconds = MPI.Wtime() - start
    sums = comm.gather([parameter.double().sum().item() for parameter in model.parameters()])
    if comm.rank == 0:
        same = all(one == sums[0] for one in sums)
        print(f"{comm.size} ranks, {steps} steps in {seconds:.1f} s: loss {first:.3f} at first, {last:.3f} at the end; "
              f"{'the same parameters everywhere' if same else 'PARAMETERS DIFFER'}")
        if not same or not last < first:
            comm.Abort(1)


if __name__ == "__main__":
    main()
