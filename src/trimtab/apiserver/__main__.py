"""The program."""

import sys

from trimtab.apiserver.program import main

sys.exit(main())
