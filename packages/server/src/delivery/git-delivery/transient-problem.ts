import type { ProblemCode } from '@headgate/contract';
import type { Problem } from '../../kernel/http/problems.ts';

const passing: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'migration-in-progress',
  'git-missing',
  'shutting-down',
  'git-busy',
  'git-timeout',
  'git-failed',
  'git-host-failed',
  'git-host-timeout',
  'repositories-unavailable',
  'database-unavailable',
  'storage-unavailable',
  'storage-full',
  'concurrent-change',
  'overloaded',
  'version-exists',
]);

/** Whether the same commit may be published without a change by anybody. */
export function isTransient({ code }: Problem): boolean {
  return passing.has(code);
}
