/** The first member of a backup: what it contains, and what a restore needs. */
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
  /** Identifies the master key without revealing anything about it. */
  masterKeyFingerprint: string;
  migrations: AppliedMigration[];
  tables: CopiedTable[];
}

export function createHeader(
  snapshot: Snapshot,
  about: { sealer: Sealer; madeAt: Date; version: string },
): BackupHeader {
  return {
    format,
    madeAt: about.madeAt.toISOString(),
    headgateVersion: about.version,
    postgresVersion: snapshot.postgresVersion,
    masterKeyFingerprint: computeFingerprint(about.sealer),
    migrations: snapshot.migrations,
    tables: snapshot.tables,
  };
}

/**
 * Reads the header of a file that is not verified yet: only its format and its fingerprint may be trusted.
 * @throws what the operator has to provide if this is not the master key of the backup
 */
export function readHeader(
  file: string,
  first: Member,
  key: { sealer: Sealer | undefined; place: string },
): BackupHeader {
  const header = first.name === headerName ? parseHeader(first.bytes) : undefined;
  if (header === undefined) throw new Error(`${file} is not a backup of Headgate.`);
  if (header.format !== format) {
    throw new Error(
      `${file} was made by Headgate ${header.headgateVersion}, whose format this version cannot read. Use that version or a newer one.`,
    );
  }
  const neededKey = `the master key with the fingerprint ${header.masterKeyFingerprint}`;
  const how = `Copy the file master-key of that installation to ${key.place} (mode 0600), or set HEADGATE_MASTER_KEY, then restore again.`;
  if (key.sealer === undefined)
    throw new Error(
      `The secrets in ${file} are opened by ${neededKey}, and this installation has no master key. ${how}`,
    );
  const found = computeFingerprint(key.sealer);
  if (found !== header.masterKeyFingerprint) {
    throw new Error(
      `The secrets in ${file} are opened by ${neededKey}; the key of this installation has the fingerprint ${found}. ${how}`,
    );
  }
  return header;
}

function parseHeader(bytes: Buffer): BackupHeader | undefined {
  try {
    const header = JSON.parse(bytes.toString('utf8'));
    return typeof header.format === 'number' && typeof header.masterKeyFingerprint === 'string'
      ? header
      : undefined;
  } catch {
    return undefined;
  }
}

export function computeFingerprint(sealer: Sealer): string {
  return sealer.digest('', 'fingerprint of the master key').toString('hex').slice(0, 16);
}

export function createSeal(sealer: Sealer): SealSums {
  return (sums) => sealer.digest(sums, 'contents of a backup').toString('hex');
}
