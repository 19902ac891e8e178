/** Promotion, enabling and disabling of versions. */
import { enableArtifact, promoteArtifact } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch, requireSeen } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import { findPermittedEnvironments } from '../../workspace/environments/index.ts';
import { presentVersion, renderVersionEtag, type VersionRow } from './artifact.store.ts';
import {
  holdVersion,
  insertPromotedVersion,
  lockVersion,
  setEnabled,
  type VersionPlace,
} from './version-state.store.ts';

export function versionStateRoutes({ write }: Endpoints): void {
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

  write(promoteArtifact, async ({ tx, scope, params, headers, body, now }) => {
    const { versionName, sourceEnvironmentName: from, targetEnvironmentName: to } = body;
    const { projectId } = params;
    if (from === to) throw problem('promotion-to-itself', { name: to });
    const [readable, deliverable] = await Promise.all([
      findPermittedEnvironments(tx, scope, projectId, 'project:read', now),
      findPermittedEnvironments(tx, scope, projectId, 'environment:deliver', now),
    ]);
    if (!readable.permitted.has(from) && !deliverable.permitted.has(from)) {
      // A caller who may read every environment gets 404 for one that does not exist.
      if (readable.permitted.size === readable.all.size)
        throw problem('environment-not-found', { name: from });
      throw await explainForbidden(tx.query, scope, 'project:read', { projectId, environmentName: from });
    }
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
  });
}

const buildSubject = ({ versionName }: VersionPlace) => ({
  type: 'artifact',
  id: versionName,
  name: versionName,
});

function pickState({ environmentName }: VersionPlace, row: VersionRow): object {
  return { environmentName, ...presentVersion(row) };
}
