"""The parts of user_time.py. PART_part.py measures a part; worker.py runs inside the tree that is measured."""
