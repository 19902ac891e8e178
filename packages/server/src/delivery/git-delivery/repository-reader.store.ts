/** Whether a caller who may publish in an environment may also read the repository of the project. */
import { createArtifactFromGit } from '@headgate/contract';
import type { Database } from '../../kernel/database/database.ts';
import type { ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { findRequiredRoles, type Scope } from '../../kernel/security/permissions.ts';

const { account, project } = findRequiredRoles(createArtifactFromGit.alsoRequires);

const repositoryReader = guardedRead(
  { row: { may_read: 'boolean' } },
  `
  select reading.standing = 'permitted' as may_read
  from rights($account_id::uuid, $principal_id::uuid, $project_id::uuid, null, '${account}', '${project}', '{}',
    $now::timestamptz, $user_credential_id::uuid, $other_principal_ids::uuid[]) reading`,
);

/** A version shows files of the repository. Throws `forbidden`. */
export async function requireReader(
  rows: ReadCall<never>['rows'],
  { database }: { database: Database },
  scope: Scope,
  projectId: string,
): Promise<void> {
  const [reader] = await rows(repositoryReader, {});
  if (reader?.may_read === true) return;
  const place = { projectId, environmentName: null };
  throw await explainForbidden(database.read, scope, createArtifactFromGit.alsoRequires, place);
}
