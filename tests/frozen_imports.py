"""Last module that the process imports from which the tests fork servers and commands.

A forked process shares the imported objects. To collect garbage among them would copy their memory, a tenth of a second
for each process.
"""

import gc

gc.collect()
gc.freeze()
