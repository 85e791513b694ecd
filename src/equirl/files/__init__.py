"""Files that are whole or absent: written aside and renamed, checked when read, locked while in use."""

from equirl.files.durable import FolderInUse as FolderInUse
from equirl.files.whole_files import DamagedFile as DamagedFile
