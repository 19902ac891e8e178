/** Tests of endpoints as work: the payload for the agent, and what its response means. */
import { ConnectorTestResult, type WorkOutcome } from '@headgate/contract';
import { bodySchemas, compileOnUse } from '../../kernel/http/schemas.ts';
import type { WorkEnd, WorkOwner, WorkServices } from '../../kernel/work/work.ts';
import { type ConnectorTestEnd, endConnectorTest } from './connector-test.store.ts';

/** The payload, a ConnectorTestWork. */
const payload = `
  select t.request::json
  from connector_test t where t.account_id = claimed.account_id and t.work_id = claimed.work_id`;

export function createConnectorTestOwner(services: WorkServices): WorkOwner {
  const nothing = () => undefined;
  return {
    claimed: { with: [], payload },
    onStarted: nothing,
    onSilent: nothing,
    onCameBack: nothing,
    onRequeued: nothing,
    onEnded(moment, ends) {
      const tests = ends.map((end) => ({ id: end.workId, end: readEnd(end) }));
      for (const { id, end } of tests) endConnectorTest(moment, id, end);
      moment.tx.afterCommit(() => {
        for (const { id, end } of tests) {
          services.metrics.countEndedWork('connector-test', end.state);
          services.wakes.wake(id, 'all');
        }
      });
    },
  };
}

const validator = compileOnUse(bodySchemas, ConnectorTestResult);

function readEnd({ status, result, message }: WorkEnd): ConnectorTestEnd {
  // The schema of the agent protocol has validated the members of a report.
  const { connectorTest } = (result ?? {}) as Pick<WorkOutcome, 'connectorTest'>;
  if (status === 'SUCCESS' && connectorTest !== undefined)
    return isResult(connectorTest)
      ? { state: 'ANSWERED', result: connectorTest, message: null }
      : { state: 'FAILED', result: null, message: 'its result cannot be read; upgrade the agent' };
  const state = status === 'FORBIDDEN' ? 'FORBIDDEN' : 'FAILED';
  return { state, result: null, message: message?.slice(0, 2_000) ?? 'it gave no result' };
}

function isResult(text: string): boolean {
  try {
    return validator()(JSON.parse(text)) === true;
  } catch {
    return false;
  }
}
