"""Starts the hook from wherever this folder lies: `python3 -I -S launch.py REGISTRATION LAYOUT…`."""

import gc
import marshal
import sys

gc.disable()  # one short life: nothing is worth collecting

_file_here = __file__.replace("\\", "/") if sys.platform == "win32" else __file__
_folder = _file_here.rpartition("/hook/")[0]
_package = type(sys)("ralphloop")
_package.__dict__["__path__"] = [_folder]
sys.modules["ralphloop"] = _package

try:
    _bundle = _folder + "/__pycache__/hook." + str(sys.implementation.cache_tag) + ".bundle"
    _file = open(_bundle, "rb", buffering=0)  # noqa: SIM115 - read from until the process ends
    _index = marshal.loads(_file.read(int.from_bytes(_file.read(4), "little")))  # noqa: S302 - written beside our source
    exec(_index["finder"], {"file": _file, "index": _index, "folder": _folder})  # noqa: S102 - see above
    from ralphloop.hook.main import main

    _bundled = True
except Exception:  # none yet, or one that does not fit: the modules are imported one by one
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "Finder"]
    for _name in [name for name in sys.modules if name.startswith("ralphloop.")]:
        del sys.modules[_name]
    _bundled = False
    try:
        from ralphloop.hook.main import main
    except Exception:  # half a package, in the middle of an update: better silent than in the way
        sys.exit(0)

main(sys.argv[1:], bundled=_bundled)
