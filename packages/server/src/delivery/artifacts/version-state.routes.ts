/** Promotion, enabling and disabling of versions. */
import { enableArtifact, type PromotionDryRun, promoteArtifact } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import type { Outcome } from '../../kernel/endpoint/call.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch, requireSeen } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { findPermittedEnvironments } from '../../workspace/environments/index.ts';
import { presentVersion, renderVersionEtag, type VersionRow } from './artifact.store.ts';
import { readPromotionImpact } from './promotion-impact.store.ts';
import {
  holdVersion,
  insertPromotedVersion,
  lockVersion,
  setEnabled,
  type VersionPlace,
} from './version-state.store.ts';

export function versionStateRoutes({ write, long }: Endpoints): void {
  write(enableArtifact, async ({ tx, scope, params, headers, body }) => {
    const { environmentName, versionName, enabled } = body;
    const place = { projectId: params.projectId, environmentName, versionName };
    const stored = await lockVersion(tx, scope, place);
    requireMatch(headers['If-Match'], renderVersionEtag(stored));
    setEnabled(tx, scope, place, { from: stored.enabled, to: enabled });
    const row = { ...stored, enabled };
    const states = { before: pickState(place, stored), after: pickState(place, row) };
    return {
      body: { environmentName, versionName, enabled },
      etag: renderVersionEtag(row),
      events: [
        {
          name: 'artifact-updated',
          projectId: params.projectId,
          environmentName: place.environmentName,
          subject: buildSubject(place),
          ...states,
        },
      ],
    };
  });

  long(promoteArtifact, async (call) => {
    const { scope, params, query, headers, body, now } = call;
    const { versionName, sourceEnvironmentName: from, targetEnvironmentName: to } = body;
    const { projectId } = params;
    // A dry run does the same, and is rolled back.
    const work = async (tx: Transaction): Promise<Outcome<typeof promoteArtifact>> => {
      if (from === to) throw problem('promotion-to-itself', { name: to });
      await requireSource(tx, scope, { projectId, environmentName: from }, now);
      const source = await holdVersion(tx, scope, { projectId, environmentName: from, versionName });
      const seen = { ifMatch: headers['If-Match'], digest: body.digest };
      const search = new URLSearchParams({ environmentName: from, versionName });
      const shownBy = `GET /dpc/v1/projects/${projectId}/artifacts/details?${search}`;
      requireSeen(seen, source.manifest_digest, shownBy, renderVersionEtag(source));
      if (!source.enabled) throw problem('artifact-disabled', { versionName, environmentName: from });
      const place = { projectId, environmentName: to, versionName };
      insertPromotedVersion(tx, scope, place, from, now);
      if (query.dryRun)
        throw new DryPromotion(await readPromotionImpact(tx, scope, { projectId, versionName, from, to }));
      const promotion = { promoted_from: from, promoted_by: scope.actorId, deployed_at: now };
      const after = pickState(place, { ...source, ...promotion });
      const subject = buildSubject(place);
      return {
        body: { environmentName: to, versionName },
        events: [{ name: 'artifact-promoted', projectId, environmentName: to, subject, after }],
      };
    };
    return call.write(JSON.stringify([body, query]), work).catch((failure: unknown) => {
      if (!(failure instanceof DryPromotion)) throw failure;
      return { status: 200, headers: {}, body: JSON.stringify(failure.impact) };
    });
  });
}

/** Ends the transaction of a dry run. */
class DryPromotion extends Error {
  readonly impact: PromotionDryRun;

  constructor(impact: PromotionDryRun) {
    super('a dry run was rolled back');
    this.impact = impact;
  }
}

/** Throws unless the caller may read the source environment of a promotion, or publish there. */
async function requireSource(
  tx: Transaction,
  scope: Scope,
  { projectId, environmentName }: { projectId: string; environmentName: string },
  now: Date,
): Promise<void> {
  const [readable, deliverable] = await Promise.all([
    findPermittedEnvironments(tx, scope, projectId, 'project:read', now),
    findPermittedEnvironments(tx, scope, projectId, 'environment:deliver', now),
  ]);
  if (readable.permitted.has(environmentName) || deliverable.permitted.has(environmentName)) return;
  // A caller who may read every environment gets 404 for one that does not exist.
  if (readable.permitted.size === readable.all.size)
    throw problem('environment-not-found', { name: environmentName });
  throw await explainForbidden(tx.query, scope, 'project:read', { projectId, environmentName });
}

const buildSubject = ({ versionName }: VersionPlace) => ({
  type: 'artifact',
  id: versionName,
  name: versionName,
});

function pickState({ environmentName }: VersionPlace, row: VersionRow): object {
  return { environmentName, ...presentVersion(row) };
}
