import {
  createSecretReference,
  deleteSecretReference,
  listSecretReferences,
  secretAgentTypes,
  secretProviders,
} from '@headgate/contract';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { requireWord } from '../../kernel/http/words.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { requireVaultNames } from '../agents/index.ts';
import { listConnectionsNaming } from '../connections/index.ts';
import { listConnectorOauthsNaming } from '../connector-oauths/index.ts';
import { listStreamingPipelinesNaming } from '../streaming-pipelines/index.ts';
import {
  deleteSecretReferenceRow,
  insertSecretReference,
  lockSecretReference,
  presentSecretReference,
  secretReferencePage,
} from './secret-reference.store.ts';

/** At most this many users of a reference are listed in the problem. */
const toldUsers = 5;

export function secretReferenceRoutes({ read, write }: Endpoints): void {
  read(listSecretReferences, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const type = query.secretReferenceType ?? query.type ?? 'PASSWORD';
    const { rows, total } = await page(secretReferencePage, {
      type,
      provider: query.provider ?? null,
      limit,
      offset,
    });
    return { body: { page: query.page, results: rows.map(presentSecretReference), size: limit, total } };
  });

  write(createSecretReference, async ({ tx, scope, params, body, now }) => {
    const { projectId, secretReferenceName: name } = params;
    const { agentId } = body;
    const type = body.secretReferenceType ?? body.type;
    if (type === undefined) throw new Error('The schema requires one of the two members.');
    if (agentId !== undefined && toUuid(agentId) !== agentId) throw problem('unknown-agent', { id: agentId });
    const after = presentSecretReference({
      name,
      type,
      secretName: body.secretName,
      secretKey: body.secretKey ?? null,
      vaultName: body.vaultName ?? null,
      vaultType: body.vaultType ?? null,
      provider: body.provider === undefined ? null : requireWord(secretProviders, body.provider, 'provider'),
      agentType:
        body.agentType === undefined ? null : requireWord(secretAgentTypes, body.agentType, 'agentType'),
      agentId: agentId ?? null,
      description: body.description ?? null,
    });
    insertSecretReference(tx, scope, projectId, after, now);
    const granted = await requireVaultNames(
      { tx, scope, now },
      { projectId, agentId: agentId ?? null, names: [after.secretName], orReference: false },
    );
    return {
      body: after,
      location: `/v1/projects/${projectId}/secret-references/${name}`,
      events: [buildSecretReferenceEvent('secret-reference-created', projectId, name, { after }), ...granted],
    };
  });

  write(deleteSecretReference, async ({ tx, scope, params, query }) => {
    const { projectId, secretReferenceName: name } = params;
    const before = await lockSecretReference(tx, scope, projectId, name);
    if (!query.force) {
      const users = (
        await Promise.all([
          listConnectionsNaming(tx, scope, projectId, before, toldUsers + 1),
          listStreamingPipelinesNaming(tx, scope, projectId, before, toldUsers + 1),
          listConnectorOauthsNaming(tx, scope, projectId, before, toldUsers + 1),
        ])
      ).flat();
      const more = users.length > toldUsers;
      if (users.length > 0)
        throw problem('secret-reference-in-use', { name, users: users.slice(0, toldUsers), more });
    }
    tx.send(deleteSecretReferenceRow, { account_id: scope.accountId, project_id: projectId, name });
    return { events: [buildSecretReferenceEvent('secret-reference-deleted', projectId, name, { before })] };
  });
}

function buildSecretReferenceEvent(
  name: AccountEvent['name'],
  projectId: string,
  reference: string,
  states: { before?: object; after?: object },
): AccountEvent {
  return {
    name,
    projectId,
    subject: { type: 'secret-reference', id: reference, name: reference },
    ...states,
  };
}
