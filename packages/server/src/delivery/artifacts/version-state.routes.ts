/** Promotion, enabling and disabling of versions. */
import { type BodyOf, enableArtifact, type HeadersOf, promoteArtifact } from '@headgate/contract';
import { type Database, requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { Endpoints, Outcome } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch, requireSeen } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { renderJson } from '../../kernel/http/render-json.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { findPermittedEnvironments } from '../../workspace/environments/index.ts';
import type { Blobs } from '../blobs/index.ts';
import { describeGateErrors, passGate, type Reviewer, requireUnchangedGate } from '../quality-rules/index.ts';
import {
  createVersionProblem,
  presentVersion,
  renderVersionEtag,
  type VersionRow,
} from './artifact.store.ts';
import { readPromotionImpact } from './promotion-impact.store.ts';
import { createVersionSource } from './version-source.ts';
import {
  holdVersion,
  insertPromotedVersion,
  lockVersion,
  promotedVersion,
  setEnabled,
  type VersionPlace,
} from './version-state.store.ts';

export interface VersionStateServices {
  database: Database;
  blobs: Blobs;
  review: Reviewer;
}

export function versionStateRoutes({ write, long }: Endpoints, services: VersionStateServices): void {
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

  long(
    promoteArtifact,
    async ({ rows, write: store, findEarlierAnswer, scope, params, query, headers, body, now }) => {
      const { sourceEnvironmentName: from, targetEnvironmentName: to } = body;
      const place = { projectId: params.projectId, scope, now };
      const found = await rows(promotedVersion, {
        environment_name: to,
        source_environment_name: from,
        version_name: body.versionName,
      });
      const { manifest_digest: digest, ...gate } = requireRow(found, () =>
        problem('environment-not-found', { name: to }),
      );
      const content = JSON.stringify([body, query]);
      const earlier = await findEarlierAnswer(content);
      if (earlier !== undefined) return earlier;
      if (from === to) throw problem('promotion-to-itself', { name: to });
      const { read } = services.database;
      await requireSource({ query: read }, place, from);
      const { projectId } = params;
      const { versionName } = body;
      const gated = { accountId: scope.accountId, projectId, environmentName: to, versionName, gate };
      // Without the version there is nothing to review; the transaction refuses one that has come since.
      const errors =
        digest === null
          ? []
          : await passGate(services.review, gated, () =>
              createVersionSource({ read, blobs: services.blobs }, scope.accountId, digest),
            );
      const stored = store(content, async (tx) => {
        await requireSource(tx, place, from);
        const promoted = await promote(tx, { ...place, headers, body }, digest);
        requireUnchangedGate(tx, scope.accountId, { projectId, environmentName: to }, gate);
        // A dry run does the same, and is rolled back.
        if (query.dryRun) {
          // Sends what is above.
          await holdVersion(tx, scope, { projectId, environmentName: to, versionName });
          throw new DryPromotion();
        }
        return errors.length === 0 ? promoted : { ...promoted, warning: describeGateErrors(errors.length) };
      });
      return stored.catch(async (failure: unknown) => {
        if (!(failure instanceof DryPromotion)) throw failure;
        const impact = await readPromotionImpact(read, scope, { projectId, versionName, from, to });
        return { status: 200, headers: {}, body: await renderJson(impact) };
      });
    },
  );
}

/** Ends the transaction of a dry run. */
class DryPromotion extends Error {}

interface PromotionPlace {
  projectId: string;
  scope: Scope;
  now: Date;
}

/** Throws `environment-not-found` and `forbidden`. */
async function requireSource(
  tx: Pick<Transaction, 'query'>,
  { projectId, scope, now }: PromotionPlace,
  from: string,
): Promise<void> {
  const [readable, deliverable] = await Promise.all([
    findPermittedEnvironments(tx, scope, projectId, 'project:read', now),
    findPermittedEnvironments(tx, scope, projectId, 'environment:deliver', now),
  ]);
  if (readable.permitted.has(from) || deliverable.permitted.has(from)) return;
  // A caller who may read every environment gets 404 for one that does not exist.
  if (readable.permitted.size === readable.all.size) throw problem('environment-not-found', { name: from });
  throw await explainForbidden(tx.query, scope, 'project:read', { projectId, environmentName: from });
}

interface Promotion extends PromotionPlace {
  headers: HeadersOf<typeof promoteArtifact>;
  body: BodyOf<typeof promoteArtifact>;
}

/** @param reviewedDigest of the files that passed the gate; null if there was no version */
async function promote(
  tx: Transaction,
  { projectId, scope, now, headers, body }: Promotion,
  reviewedDigest: string | null,
): Promise<Outcome<typeof promoteArtifact>> {
  const { versionName, sourceEnvironmentName: from, targetEnvironmentName: to } = body;
  const source = await holdVersion(tx, scope, { projectId, environmentName: from, versionName });
  if (reviewedDigest === null) throw createVersionProblem(from, versionName);
  if (source.manifest_digest !== reviewedDigest) throw problem('concurrent-change');
  const seen = { ifMatch: headers['If-Match'], digest: body.digest };
  const query = new URLSearchParams({ environmentName: from, versionName });
  const shownBy = `GET /dpc/v1/projects/${projectId}/artifacts/details?${query}`;
  requireSeen(seen, source.manifest_digest, shownBy, renderVersionEtag(source));
  if (!source.enabled) throw problem('artifact-disabled', { versionName, environmentName: from });
  const place = { projectId, environmentName: to, versionName };
  insertPromotedVersion(tx, scope, place, from, now);
  const promotion = { promoted_from: from, promoted_by: scope.actorId, deployed_at: now };
  const after = pickState(place, { ...source, ...promotion });
  return {
    body: { environmentName: to, versionName },
    events: [
      { name: 'artifact-promoted', projectId, environmentName: to, subject: buildSubject(place), after },
    ],
  };
}

const buildSubject = ({ versionName }: VersionPlace) => ({
  type: 'artifact',
  id: versionName,
  name: versionName,
});

function pickState({ environmentName }: VersionPlace, row: VersionRow): object {
  return { environmentName, ...presentVersion(row) };
}
