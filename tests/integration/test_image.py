"""What the container files say, done without a container engine: the same build steps, then the cloud as another user
on a file system of which only the volume and /tmp can be written.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.programs import ROOT, Founded, free_port

CONTAINERFILE = ROOT / "deploy" / "container" / "cloud.Containerfile"
UID = 10001
pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.xdist_group("image")]


def run(*words: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        **more,  # type: ignore[call-overload]
    )


def build_steps() -> list[str]:
    """The RUN lines of the first stage, in order."""
    text = CONTAINERFILE.read_text().replace("\\\n", " ")
    first = text.split("FROM ${BASE}")[1]
    return [" ".join(line.split()) for line in re.findall(r"^RUN (.+)$", first, re.MULTILINE)]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that stands for the image's /opt/privet, made by the container file's own steps."""
    # Not below pytest's own folder, which only the present user may enter.
    folder = Path(tempfile.mkdtemp(prefix="privet-image-"))
    folder.chmod(0o755)
    try:
        (folder / "build").mkdir()
        shutil.copy(ROOT / "requirements" / "cloud.txt", folder / "build" / "requirements.txt")
        wheel = run(
            sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "build", cwd=ROOT
        )
        assert wheel.returncode == 0, wheel.stderr
        for step in build_steps():
            here = step.replace("/build/", f"{folder}/build/").replace("/opt/privet", f"{folder}/privet")
            done = run("sh", "-c", here.replace("python -m venv", f"{sys.executable} -m venv"))
            if "Could not" in done.stderr and "connect" in done.stderr.lower():
                pytest.skip("the packages cannot be fetched here")
            assert done.returncode == 0, done.stderr[-3000:]
        yield folder
    finally:
        shutil.rmtree(folder)


def test_it_is_installed_whole_and_without_an_installer(image: Path) -> None:
    binaries = image / "privet" / "bin"
    assert run(binaries / "privet", "--version").stdout.startswith("privet ")
    page = run(binaries / "privet", "explain", "C012", cwd="/")
    assert "The database's tables are older" in page.stdout
    assert run(binaries / "python", "-m", "pip", "--version").returncode != 0
    outside = run(binaries / "python", "-c", "import cloud_service; print(cloud_service.__file__)", cwd="/")
    assert outside.stdout.startswith(str(image))


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user and mounting need root")
def test_nothing_is_written_outside_the_volume(image: Path, founded_federation: Founded) -> None:
    """The cloud joins, serves and stops as uid 10001, on a root that is mounted read-only."""
    volume = image / "volume"
    volume.mkdir(mode=0o700)
    for source in (founded_federation.folder / "cloud").iterdir():
        shutil.copy2(source, volume / source.name)
    shutil.copy(founded_federation.cloud_bundle, volume / "cloud.bundle")
    for path in (volume, *volume.iterdir()):
        os.chown(path, UID, UID)
    privet = image / "privet" / "bin" / "privet"
    port, root = free_port(), founded_federation.root_sha256
    # The interpreter that the tests run with may lie where only the present user can enter.
    base, top = Path(sys.base_prefix), Path("/", Path(sys.base_prefix).parts[1])
    opened = (
        f"mount -t tmpfs -o mode=755 tmpfs /mnt{top} && mkdir -p /mnt{base} && mount --bind {base} /mnt{base}"
    )
    script = f"""
set -e
mount --make-rprivate /
mount --bind {volume} {volume}
mount --bind / /mnt && mount -o remount,bind,ro /mnt
mount --rbind {volume} /mnt{volume}
mount -t tmpfs -o size=64m,mode=1777 tmpfs /mnt/run
mount -t proc proc /mnt/proc 2>/dev/null || mount --rbind /proc /mnt/proc
mount --rbind /dev /mnt/dev
{opened if top.stat().st_mode & 0o005 != 0o005 else ""}
exec chroot --userspec={UID}:{UID} /mnt /bin/sh -c '
export PATH={privet.parent}:/usr/bin:/bin HOME=/run TMPDIR=/run PYTHONDONTWRITEBYTECODE=1 PRIVET_CLOUD_FOLDER={volume}
touch /etc/written 2>/dev/null && exit 90; touch {image}/written 2>/dev/null && exit 91
test "$(id -u)" = {UID} || exit 92
privet cloud join --bundle {volume}/cloud.bundle --root-sha256 {root} || exit 93
privet cloud serve --port {port} & serving=$!
for i in $(seq 100); do
  PRIVET_CLOUD_PORT={port} privet cloud health && break
  test $i = 100 && exit 94
  sleep 0.2
done
kill -TERM $serving; wait $serving; exit $?
'
"""
    done = run("unshare", "-m", "sh", "-c", script, timeout=300)
    if "mount" in done.stderr and "denied" in done.stderr:
        pytest.skip("this machine lets nobody mount")
    ended = 128 + signal.SIGTERM  # the server ends by the signal that asked it to, once all is put away
    assert done.returncode in (0, ended), (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    assert "is ready" in done.stdout
    assert (volume / "cloud.db").is_file()
    owned = run(
        "find", "/", "-xdev", "-user", str(UID), "-not", "-path", f"{volume}*", "-not", "-path", "/proc/*"
    )
    assert owned.stdout == ""


def test_the_whole_demo_runs_where_no_page_is_writable_and_executable(tmp_path: Path) -> None:
    """MemoryDenyWriteExecute= of the units: cloud, agents and authority run under the kernel's own rule for it."""
    program = f"""
import ctypes, mmap, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:
    sys.exit(77)
try:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    sys.exit(78)
except OSError:
    pass
os.execv({sys.executable!r}, [{sys.executable!r}, "-m", "privet", "demo", "--json"])
"""
    done = run(sys.executable, "-c", program, cwd=ROOT, timeout=600)
    if done.returncode == 77:
        pytest.skip("this kernel does not know the rule")
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_stop_is_quick(image: Path, founded_federation: Founded, tmp_path: Path) -> None:
    """STOPSIGNAL: the container's grace of 10 s is more than enough."""
    folder = tmp_path / "cloud"
    shutil.copytree(founded_federation.folder / "cloud", folder)
    privet, port = image / "privet" / "bin" / "privet", free_port()
    bundle, root = founded_federation.cloud_bundle, founded_federation.root_sha256
    joined = run(privet, "cloud", "join", folder, "--bundle", bundle, "--root-sha256", root, cwd="/")
    assert joined.returncode == 0, joined.stderr
    process = subprocess.Popen([privet, "cloud", "serve", folder, "--port", str(port)], cwd="/")
    try:
        settings = {**os.environ, "PRIVET_CLOUD_PORT": str(port)}
        for _ in range(100):
            if run(privet, "cloud", "health", folder, cwd="/", env=settings).returncode == 0:
                break
            time.sleep(0.2)
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) in (0, -signal.SIGTERM)
        print(f"stopped after {time.monotonic() - start:.2f} s")
    finally:
        process.kill()
        process.wait(10)
