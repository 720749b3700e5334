"""What kills, full disks, damaged and foreign files do to a run: ``python -m bench.faults``."""
