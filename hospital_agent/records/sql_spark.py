"""A Spark session for one agent: `spark://local` on this machine, `spark://HOST:PORT` on a cluster.

The session has no page for people, writes no tables, and lives as long as the agent: its start takes seconds. What
Spark shuffles lies in its own folder of temporary files until it ends. Needs the extra `spark` and Java 17.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
import shutil
import tempfile
import warnings
from functools import cache
from typing import Any, Final

from shared.errors import InputError

SCHEME: Final = "spark://"
_LOCAL: Final = re.compile(r"local(\[(\d+|\*)\])?")
_PARTITIONS: Final = 2
"""Of a shuffle: what is shuffled here are sums, a few rows."""


def spark_connection(url: str) -> Any:
    """An Ibis connection to the session of this URL. Raises: InputError: the extra is not installed."""
    try:
        importlib.import_module("pyspark")
    except ImportError:
        raise InputError(
            "records in Spark need the extra `spark`.",
            where="data settings, url",
            remedy='Install it with: pip install "privet[spark]", and Java 17.',
        ) from None
    return importlib.import_module("ibis").pyspark.connect(_session(master_of(url)))


def master_of(url: str) -> str:
    """Spark's word for where it runs."""
    place = url.removeprefix(SCHEME).rstrip("/")
    if _LOCAL.fullmatch(place):
        return place if "[" in place else "local[*]"
    return url


@cache
def _session(master: str) -> Any:
    folder = tempfile.mkdtemp(prefix="privet-spark-")  # mode 0700
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(_PARTITIONS),
        # Results come by Arrow: exact integers, and texts that may be missing.
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master(master).appName("privet")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return builder.getOrCreate()
