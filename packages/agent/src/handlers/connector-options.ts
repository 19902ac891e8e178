/** How a run, a test of a pipeline and a test of an endpoint reach connectors. */
import type { Connectors, ConnectorUse } from '../connectors/connectors.ts';
import type { Log } from '../log.ts';
import type { Masking } from '../secrets/masking.ts';
import type { SecretReferences } from '../secrets/secret-references.ts';
import type { WorkKey } from '../session/outbox.ts';
import type { WorkContext } from './handler.ts';

export interface ConnectorDependencies {
  connectors: Connectors;
  secretReferences: SecretReferences;
  log: Log;
}

/**
 * All secrets that connectors of the work use are masked in its reports.
 *
 * @param masking of all secrets of the work: its reports have one mask
 */
export function createConnectorUse(
  work: WorkKey,
  place: { projectId: string; environmentName: string },
  context: Pick<WorkContext, 'kill' | 'conceal'>,
  { secretReferences, log }: ConnectorDependencies,
  masking: Masking,
): ConnectorUse {
  const conceal = () => context.conceal((text) => masking.mask(text));
  return {
    work,
    projectId: place.projectId,
    environmentName: place.environmentName,
    async readSecret(name, key) {
      const secret = await secretReferences.read(work, name, context.kill, key);
      log.info('secret read for a connector', { workId: work.workId, secretReference: name });
      masking.add(secret);
      conceal();
      return secret;
    },
    onToken(token) {
      masking.addToken(token);
      conceal();
    },
    conceal: (text) => masking.conceal(text),
    signal: context.kill,
  };
}
