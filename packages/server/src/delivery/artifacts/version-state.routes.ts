/** Promotion, enabling and disabling of versions. */
import {
  type BodyOf,
  enableArtifact,
  type HeadersOf,
  type PromotionDryRun,
  promoteArtifact,
} from '@headgate/contract';
import { type Database, requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { Endpoints, Outcome } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch, requireSeen } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { findPermittedEnvironments } from '../../workspace/environments/index.ts';
import type { Blobs } from '../blobs/index.ts';
import { passGate, type Reviewer } from '../quality-rules/index.ts';
import { presentVersion, renderVersionEtag, type VersionRow } from './artifact.store.ts';
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
      const { quality_gate: gate, manifest_digest: digest } = requireRow(found, () =>
        problem('environment-not-found', { name: to }),
      );
      const content = JSON.stringify([body, query]);
      const earlier = await findEarlierAnswer(content);
      if (earlier !== undefined) return earlier;
      if (from === to) throw problem('promotion-to-itself', { name: to });
      const { read } = services.database;
      await requireSource({ query: read }, place, from);
      const gated = { accountId: scope.accountId, environmentName: to, versionName: body.versionName, gate };
      // Without the version there is nothing to review; the transaction says so.
      const errors =
        digest === null
          ? []
          : await passGate(services.review, gated, () =>
              createVersionSource({ read, blobs: services.blobs }, scope.accountId, digest),
            );
      // A dry run does the same, and is rolled back.
      const stored = store(content, async (tx) => {
        await requireSource(tx, place, from);
        const promoted = await promote(tx, { ...place, headers, body });
        if (query.dryRun) {
          const { versionName } = body;
          const { projectId } = params;
          throw new DryPromotion(await readPromotionImpact(tx, scope, { projectId, versionName, from, to }));
        }
        return errors.length === 0 ? promoted : { ...promoted, warning: describeErrors(errors.length) };
      });
      return stored.catch((failure: unknown) => {
        if (!(failure instanceof DryPromotion)) throw failure;
        return { status: 200, headers: {}, body: JSON.stringify(failure.impact) };
      });
    },
  );
}

const describeErrors = (count: number) =>
  `the quality review of the version is FAILED with ${count} ${count === 1 ? 'error' : 'errors'}; POST /dpc/v1/projects/{projectId}/reviews lists them`;

/** Ends the transaction of a dry run. */
class DryPromotion extends Error {
  readonly impact: PromotionDryRun;

  constructor(impact: PromotionDryRun) {
    super('a dry run was rolled back');
    this.impact = impact;
  }
}

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

async function promote(
  tx: Transaction,
  { projectId, scope, now, headers, body }: Promotion,
): Promise<Outcome<typeof promoteArtifact>> {
  const { versionName, sourceEnvironmentName: from, targetEnvironmentName: to } = body;
  const source = await holdVersion(tx, scope, { projectId, environmentName: from, versionName });
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
