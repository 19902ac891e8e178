/** Tests of endpoints as work: what the response of the agent means. Its payload is a ConnectorTestWork. */
import { ConnectorTestResult, type WorkOutcome } from '@headgate/contract';
import { bodySchemas, compileOnUse } from '../../kernel/http/schemas.ts';
import { type AgentAnswer, createRequestOwner, readFailure } from '../../kernel/work/agent-request.ts';
import type { WorkEnd, WorkServices } from '../../kernel/work/work.ts';

export const createConnectorTestOwner = (services: WorkServices) =>
  createRequestOwner(services, { kind: 'connector-test', showsMessage: true, readEnd });

const validator = compileOnUse(bodySchemas, ConnectorTestResult);

function readEnd(end: WorkEnd): AgentAnswer {
  // The schema of the agent protocol has validated the members of a report.
  const { connectorTest } = (end.result ?? {}) as Pick<WorkOutcome, 'connectorTest'>;
  if (end.status !== 'SUCCESS' || connectorTest === undefined)
    return readFailure(end, { otherwise: 'it gave no result', mostCharacters: 2_000 });
  return isResult(connectorTest)
    ? { state: 'ANSWERED', result: connectorTest, message: null }
    : { state: 'FAILED', result: null, message: 'its result cannot be read; upgrade the agent' };
}

function isResult(text: string): boolean {
  try {
    return validator()(JSON.parse(text)) === true;
  } catch {
    return false;
  }
}
