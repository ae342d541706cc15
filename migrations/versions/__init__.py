"""One file a step, in the order of `down_revision`."""
