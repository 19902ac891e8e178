/** Why a migration fails, in words: each reason has its own code, and says what to grant or to change. */
import { isUnavailable } from '../../../kernel/database/database.ts';
import { Problem } from '../../../kernel/http/problems.ts';
import type { GitProvider, ProviderFindingCode } from '../../git-providers/index.ts';
import { ProviderRefused } from '../../git-providers/index.ts';
import { RemoteFailed, type RemoteFailure, type RemoteFailureKind } from '../../git-remotes/index.ts';
import type { RejectedRef } from './push-result.ts';

/** Names as in remote-refs.ts. */
export interface PushOutcome {
  arrived: readonly string[];
  refused: readonly RejectedRef[];
  notTried: readonly string[];
}

export type MigrationFailureCode =
  | ProviderFindingCode
  | 'address-refused'
  | 'host-unreachable'
  | 'host-redirects'
  | 'not-a-git-host'
  | 'connection-cut'
  | 'host-timeout'
  | 'too-large'
  | 'too-many-refs'
  | 'too-many-objects'
  | 'source-damaged'
  | 'source-shallow'
  | 'unsupported-object-format'
  | 'source-changed'
  | 'missing-branches'
  | 'target-not-empty'
  | 'target-changed'
  | 'verification-failed'
  | 'lfs-objects-missing'
  | 'lfs-refused'
  | 'token-lost'
  | 'sign-in-failed'
  | 'given-up'
  | 'repository-changed'
  | 'push-unfinished'
  | 'git-failed';

/** It ends the migration: status FAILED, with `code` and the message as `detail`. */
export class MigrationFailed extends Error {
  override name = 'MigrationFailed';
  readonly code: MigrationFailureCode;
  /** Another attempt may succeed: the connection, not the content, was at fault. */
  readonly isTransient: boolean;
  /** The refs that the target refused. */
  rejected: readonly RejectedRef[] = [];
  /** What became of the refs of a push. */
  push: PushOutcome | undefined;
  constructor(code: MigrationFailureCode, detail: string, isTransient = false) {
    super(detail);
    this.code = code;
    this.isTransient = isTransient;
  }
}

/** One of the two repositories, as failures name it. */
export interface Side {
  side: 'source' | 'target';
  /** Its provider explains what it answers. */
  provider: GitProvider;
}

const codeOfKind: Readonly<Record<Exclude<RemoteFailureKind, 'status'>, MigrationFailureCode>> = {
  'address-refused': 'address-refused',
  unreachable: 'host-unreachable',
  redirect: 'host-redirects',
  'not-git': 'not-a-git-host',
  cut: 'connection-cut',
  timeout: 'host-timeout',
  'too-large': 'too-large',
};
const transientKinds: readonly RemoteFailureKind[] = ['unreachable', 'cut', 'timeout'];
const remedies: Partial<Record<MigrationFailureCode, string>> = {
  'host-unreachable': 'Check the address, and that the host can be reached from the server.',
  'host-redirects': 'Use the address that it redirects to, if you trust it.',
  'not-a-git-host': 'Use the address that "git clone" takes.',
  'connection-cut': 'Start the migration again; if it happens again, ask the operator of the host.',
  'host-timeout': 'Start the migration again when the host is less busy.',
};

/** What the relay saw, in words. */
export function explainRemoteFailure({ side, provider }: Side, failure: RemoteFailure): MigrationFailed {
  const { kind, status, headers, text = '', reason } = failure;
  if (kind === 'status') {
    const answered = { text, ...(status === undefined ? {} : { status }), ...(headers && { headers }) };
    const { code, detail, remedy } = provider.explainFailure(answered);
    const isTransient = code === 'provider-failed' || code === 'rate-limited';
    return new MigrationFailed(code, `The ${side}: ${detail} ${remedy}`, isTransient);
  }
  const code = codeOfKind[kind];
  const remedy = remedies[code];
  const detail = `The ${side}: ${reason}${remedy === undefined ? '' : ` ${remedy}`}`;
  return new MigrationFailed(code, detail, transientKinds.includes(kind));
}

/** Words of git, of a failed fetch, that accuse the repository and not the connection. */
const aboutDamage =
  /\bfsck\b|missing (?:blob|tree|commit|necessary)|bad (?:object|tree|pack|signature)|index-pack failed|unresolved delta|corrupt|inflate|not a valid object|did not send all|invalid (?:sha1|object)|hash mismatch|zeroPaddedFilemode|unable to (?:read|find) [0-9a-f]{40}|could not parse/i;

/**
 * Why a call of git failed.
 *
 * @param failure what the relay saw
 */
export function explainGitFailure(
  at: Side,
  failure: RemoteFailure | undefined,
  { stderr }: { stderr: string },
): MigrationFailed {
  if (failure !== undefined) return explainRemoteFailure(at, failure);
  const words = stderr.trim().slice(-1_000);
  if (/mismatched algorithms|hash algorithm|unknown object format/i.test(words))
    return refuseObjectFormat(at);
  if (at.side === 'source' && aboutDamage.test(words))
    return new MigrationFailed(
      'source-damaged',
      `The source is damaged: git found objects that are missing or not valid (${shorten(words)}). Repair it with "git fsck" and a complete clone, then start again.`,
    );
  if (/unexpected disconnect|hung up|early EOF|RPC failed|curl \d+/i.test(words))
    return explainRemoteFailure(at, { kind: 'cut', reason: 'The connection was closed in the middle.' });
  const { code, detail, remedy } = at.provider.explainFailure({ text: words });
  return new MigrationFailed(code, `The ${at.side}: ${detail} ${remedy}`);
}

/** No provider of a target takes SHA-256, and git cannot translate. */
export function refuseObjectFormat({ side }: Pick<Side, 'side'>): MigrationFailed {
  const remedy =
    side === 'source'
      ? 'Convert it with "git fast-export" and "git fast-import" to a repository with SHA-1, and move that one.'
      : 'Use a repository with SHA-1, which is the default of git.';
  return new MigrationFailed(
    'unsupported-object-format',
    `The ${side} uses SHA-256 for its objects; only SHA-1 is supported. ${remedy}`,
  );
}

/** Turns what the providers' adapters and the guarded client throw into a reason. */
export function toMigrationFailed(at: Side, failure: unknown): unknown {
  if (failure instanceof RemoteFailed) return explainRemoteFailure(at, failure.failure);
  if (failure instanceof ProviderRefused) {
    const { code, detail, remedy } = failure.finding;
    return new MigrationFailed(code, `The ${at.side}: ${detail} ${remedy}`);
  }
  return failure;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 300 ? line : `…${line.slice(-299)}`;
}

/** Whether the database or the turns of git are the reason, and not the migration. */
export function isPassing(failure: unknown): boolean {
  return isUnavailable(failure) || (failure instanceof Problem && failure.code === 'git-busy');
}

/** What is not known is not shown: the log has it. */
export function toFailure(failure: unknown): { code: string; message: string } {
  if (failure instanceof MigrationFailed) return failure;
  if (failure instanceof Problem) return { code: failure.code, message: failure.message };
  return {
    code: 'git-failed',
    message: 'The migration failed by a fault of the server, whose log has the reason. Start it again.',
  };
}
