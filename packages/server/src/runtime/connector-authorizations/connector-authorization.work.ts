/** The exchange of an authorization code as work: the payload for the agent, and what its end means. */
import type { WorkOwner, WorkServices } from '../../kernel/work/work.ts';
import { endAuthorization } from './connector-authorization.store.ts';

/** The payload, a ConnectorAuthorizationWork. A deleted configuration is not found when the agent looks it up. */
const payload = `
  select json_build_object('name', claimed.name, 'connectorOauthId', coalesce((
    select a.connector_oauth_id from connector_authorization a
    where a.account_id = claimed.account_id and a.work_id = claimed.work_id), claimed.work_id))`;

export function createAuthorizationOwner(services: WorkServices): WorkOwner {
  const nothing = () => undefined;
  return {
    claimed: { with: [], payload },
    onStarted: nothing,
    onSilent: nothing,
    onCameBack: nothing,
    onRequeued: nothing,
    onEnded(moment, ends) {
      for (const { workId, status, message } of ends) {
        const problem =
          status === 'SUCCESS' ? null : (message?.slice(0, 1_000) ?? 'The agent did not exchange the code.');
        endAuthorization(moment, { workId }, problem);
        moment.tx.afterCommit(() => {
          services.metrics.countEndedWork('connector-authorization', status);
          services.wakes.wake(workId, 'all');
        });
      }
    },
  };
}
