/** How a run, a test of a pipeline and a test of an endpoint reach connectors. */
import type { Secret } from '@headgate/contract';
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
  async function note(secret: Secret, secretReference: string): Promise<Secret> {
    log.info('secret read for a connector', { workId: work.workId, secretReference });
    masking.add(secret);
    conceal();
    return secret;
  }
  return {
    work,
    projectId: place.projectId,
    environmentName: place.environmentName,
    async readSecret(name, key) {
      return note(await secretReferences.read(work, name, context.kill, key), name);
    },
    async readCloudSecret(cloud) {
      return note(await secretReferences.readCloud(work, cloud, context.kill), cloud);
    },
    onToken(token) {
      masking.addToken(token);
      conceal();
    },
    conceal: (text) => masking.conceal(text),
    signal: context.kill,
  };
}
