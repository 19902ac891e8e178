/** The first member of a backup: what it is of, and what is needed to restore it. */
import type { AppliedMigration } from '../../kernel/database/migrate.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import type { Member, SealSums } from './archive.ts';
import type { CopiedTable, Snapshot } from './snapshot.ts';

export const headerName = 'backup.json';
const format = 1;

export interface BackupHeader {
  format: number;
  /** ISO 8601, of the snapshot. */
  madeAt: string;
  headgateVersion: string;
  postgresVersion: string;
  /** Tells one master key from another, and nothing else of it. */
  masterKeyFingerprint: string;
  migrations: AppliedMigration[];
  tables: CopiedTable[];
}

export function headerOf(
  snapshot: Snapshot,
  about: { sealer: Sealer; madeAt: Date; version: string },
): BackupHeader {
  return {
    format,
    madeAt: about.madeAt.toISOString(),
    headgateVersion: about.version,
    postgresVersion: snapshot.postgresVersion,
    masterKeyFingerprint: fingerprint(about.sealer),
    migrations: snapshot.migrations,
    tables: snapshot.tables,
  };
}

/**
 * The header of a file that is not verified yet: only its format and its key may be believed.
 * @throws what the operator has to bring, when this is not the key that the backup was made with
 */
export function readHeader(
  file: string,
  first: Member,
  key: { sealer: Sealer | undefined; place: string },
): BackupHeader {
  const header = first.name === headerName ? parse(first.bytes) : undefined;
  if (header === undefined) throw new Error(`${file} is no backup of Headgate.`);
  if (header.format !== format) {
    throw new Error(
      `${file} was made by Headgate ${header.headgateVersion}, and is newer than this one can read.`,
    );
  }
  const wanted = `the master key with the fingerprint ${header.masterKeyFingerprint}`;
  const how = `Put the file master-key of the installation that was backed up to ${key.place} (mode 0600), or set HEADGATE_MASTER_KEY, then restore again.`;
  if (key.sealer === undefined)
    throw new Error(`What is sealed in ${file} is opened by ${wanted}, and there is no key here. ${how}`);
  const found = fingerprint(key.sealer);
  if (found !== header.masterKeyFingerprint) {
    throw new Error(
      `What is sealed in ${file} is opened by ${wanted}; the key here has the fingerprint ${found}. ${how}`,
    );
  }
  return header;
}

function parse(bytes: Buffer): BackupHeader | undefined {
  try {
    const header = JSON.parse(bytes.toString('utf8'));
    return typeof header.format === 'number' && typeof header.masterKeyFingerprint === 'string'
      ? header
      : undefined;
  } catch {
    return undefined;
  }
}

export function fingerprint(sealer: Sealer): string {
  return sealer.digest('', 'fingerprint of the master key').toString('hex').slice(0, 16);
}

export function sealWith(sealer: Sealer): SealSums {
  return (sums) => sealer.digest(sums, 'contents of a backup').toString('hex');
}
