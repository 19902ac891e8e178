import type { Blobs } from '../../delivery/blobs/index.ts';
import type { RepositoryUse } from '../../delivery/repositories/index.ts';
import type { Database } from '../../kernel/database/database.ts';

/** What working copies need. */
export interface CopyServices {
  database: Database;
  blobs: Blobs;
  repositories: RepositoryUse;
}
