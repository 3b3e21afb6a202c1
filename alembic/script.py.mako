"""${message}

Revises: ${down_revision | comma,n}
"""

import sqlalchemy as sa
from alembic import op

from sqlalchemy.dialects import mysql
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
