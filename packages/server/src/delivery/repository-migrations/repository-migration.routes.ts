import {
  getRepositoryMigration,
  type MigrationPreflight,
  reportListLimit,
  Secret,
  startRepositoryMigration,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, LongCall } from '../../kernel/endpoint/endpoint.ts';
import { requireSeen } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { isSameRepository } from './clone-address.ts';
import { checkInRequest } from './dry-run.ts';
import type { TargetPlan } from './hosts.ts';
import { migrationsKey, presentMigration, readTargetUrl } from './migration.ts';
import type { MigrationServices } from './migration-work.ts';
import { insertMigration, migrationById, startOfMigration, tokenSeen } from './store/migration.store.ts';
import { completeParameters } from './tokens/target-parameters.ts';
import { fingerprintToken, sealToken } from './tokens/target-token.ts';

export interface MigrationRouteServices extends MigrationServices {
  wakes: Wakes;
  /** The address at which the repository of a project is, if it is hosted here. */
  findHostedUrl: (projectId: string) => string;
  preflightSeconds: number;
}

type StartCall = LongCall<typeof startRepositoryMigration>;

interface CheckedStart extends TargetPlan {
  /** Whether the target is the given repository of the project. */
  isSame: (cloneUrl: string | null) => boolean;
}

export function repositoryMigrationRoutes({ read, long }: Endpoints, services: MigrationRouteServices): void {
  long(startRepositoryMigration, async (call) => {
    const { body, query, headers, scope, params, newId, now } = call;
    const seen = { ifMatch: headers['If-Match'], digest: body.digest };
    const start = await checkStart(call, services);
    const project = { accountId: scope.accountId, projectId: params.projectId };
    const plan = { ...start, mode: body.mode, overwrite: query.overwrite ?? false };
    const runDry = () => checkInRequest(services, project, plan, services.preflightSeconds);
    if (query.dryRun) {
      const found = await runDry();
      return { status: 200, headers: {}, body: JSON.stringify(presentPreflight(found)) };
    }
    const { token } = start;
    // A token in the header is part of what is asked.
    const content = JSON.stringify([
      body,
      query,
      token && fingerprintToken(services.sealer, token).toString('hex'),
    ]);
    if (seen.digest !== undefined || seen.ifMatch !== undefined) {
      const earlier = await call.findEarlierAnswer(content);
      if (earlier !== undefined) return earlier;
      const { digest } = await runDry();
      requireSeen(seen, digest, 'the dry run');
    }
    return call.write(content, async (tx) => {
      const migrationId = newId();
      const made = {
        projectId: params.projectId,
        migrationId,
        mode: body.mode,
        targetProvider: start.provider,
        targetName: body.targetName,
        targetCloneUrl: start.cloneUrl,
        parameters: start.parameters,
        enterpriseOauthId: start.enterpriseOauthId,
        overwrite: query.overwrite ?? false,
        token: token && {
          sealed: sealToken(services.sealer, { accountId: scope.accountId, migrationId }, token),
          fingerprint: fingerprintToken(services.sealer, token),
        },
      };
      await insertMigration(tx, scope, made, now, start.isSame);
      tx.afterCommit(() => services.wakes.wake(migrationsKey, 'all'));
      const subject = { type: 'repository-migration', id: migrationId, name: body.targetName };
      const { mode, targetProvider, targetCloneUrl, overwrite } = made;
      const after = {
        status: 'IN_PROGRESS',
        mode,
        provider: targetProvider,
        cloneUrl: targetCloneUrl,
        overwrite,
      };
      return {
        body: { migrationId },
        location: `/v1/projects/${params.projectId}/repository-migration/${migrationId}`,
        events: [{ name: 'repository-migration-started', projectId: params.projectId, subject, after }],
      };
    });
  });

  read(getRepositoryMigration, async ({ params, rows, now }) => {
    const id = params.migrationId;
    const found = await rows(migrationById, { migration_id: toUuid(id) });
    const row = requireRow(found, () => problem('migration-not-found', { id }));
    return { body: presentMigration(row, now) };
  });
}

/**
 * What is checked without the network.
 *
 * @throws `repository-missing`, `same-repository`, `migration-in-progress`, `provider-token-required`,
 * `provider-token-used`, `provider-parameter-missing`, `unknown-enterprise-oauth`, `git-missing`
 */
async function checkStart(call: StartCall, services: MigrationRouteServices): Promise<CheckedStart> {
  const { body, headers, params, rows, scope } = call;
  const { targetProvider: provider, targetEnterpriseOauthId } = body;
  const oauthId = targetEnterpriseOauthId === undefined ? null : toUuid(targetEnterpriseOauthId);
  const [row] = await rows(startOfMigration, { oauth_id: oauthId });
  const cloneUrl = readTargetUrl(body.targetCloneUrl);
  const isSame = (current: string | null) =>
    isSameRepository(cloneUrl, current ?? services.findHostedUrl(params.projectId));
  const tokenHeader = headers['Git-Provider-Access-Token'];
  if (provider === 'gitlab' && tokenHeader === undefined) throw problem('provider-token-required');
  if (targetEnterpriseOauthId !== undefined && row?.oauth_provider !== provider)
    throw problem('unknown-enterprise-oauth', { id: targetEnterpriseOauthId });
  const known = row?.oauth_tenant_id ? { tenantId: row.oauth_tenant_id } : {};
  const { parameters, missing } = completeParameters(provider, cloneUrl, body.providerParameters, known);
  const [key] = missing;
  if (key !== undefined) throw problem('provider-parameter-missing', { provider, key });
  // Only GitLab rotates tokens; another provider's is not looked at.
  const token = provider === 'gitlab' && tokenHeader !== undefined ? new Secret(tokenHeader) : undefined;
  const enterpriseOauthId = oauthId ?? undefined;
  const start = { provider, cloneUrl, parameters, enterpriseOauthId, token, isSame };
  if (call.query.dryRun) await checkState(start, row, scope.accountId, services);
  const checked = await services.git.check();
  if ('fault' in checked) throw problem('git-missing', checked);
  return start;
}

/** What a start checks in its transaction, behind its Idempotency-Key. */
async function checkState(
  { cloneUrl, token, isSame }: CheckedStart,
  row: { has_repository: boolean; clone_url: string | null; running_id: string | null } | undefined,
  accountId: string,
  { database, sealer }: MigrationRouteServices,
): Promise<void> {
  if (row === undefined || !row.has_repository) throw problem('repository-missing');
  if (row.running_id !== null) throw problem('migration-in-progress', { migrationId: row.running_id });
  if (isSame(row.clone_url)) throw problem('same-repository', { url: cloneUrl });
  if (token === undefined) return;
  const fingerprint = fingerprintToken(sealer, token);
  const [seen] = await database.read(tokenSeen, { account_id: accountId, fingerprint });
  if (seen?.found === true) throw problem('provider-token-used');
}

function presentPreflight(found: Awaited<ReturnType<typeof checkInRequest>>): MigrationPreflight {
  const { findings, source, target, digest } = found;
  return {
    canMigrate: findings.every(({ level }) => level !== 'error'),
    digest,
    findings: findings
      .slice(0, reportListLimit)
      .map(({ level, code, message }) => ({ level, code, message: message.slice(0, 2_000) })),
    ...(source && { sourceBranches: source.branches, sourceTags: source.tags }),
    ...(target && { targetBranches: target.branches, targetTags: target.tags }),
  };
}
