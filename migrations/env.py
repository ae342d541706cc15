"""Runs migrations on the connection that `cloud_service.store.schema` hands over."""

from alembic import context

from cloud_service.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
