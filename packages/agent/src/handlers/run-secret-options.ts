import type { Secret, SecretCoordinates } from '@headgate/contract';
import type { RunOptions } from '../pool/run-options.ts';
import { Masking } from '../secrets/masking.ts';
import type { WorkKey } from '../session/outbox.ts';
import { type ConnectorDependencies, createConnectorUse } from './connector-options.ts';
import type { WorkContext } from './handler.ts';

export type ReadWarehouseSecret = (
  name: string,
  key?: string,
  onFound?: (at: SecretCoordinates) => void,
) => Promise<Secret>;

/** Secrets that a run or its connectors read are also masked in its reports, all by one mask. */
export function createSecretOptions(
  work: WorkKey,
  place: { projectId: string; environmentName: string },
  context: Pick<WorkContext, 'kill' | 'conceal'>,
  dependencies: ConnectorDependencies,
): Pick<RunOptions, 'readSecret' | 'conceal' | 'openEndpoint' | 'download' | 'stores'> & {
  /** Of the connection to the warehouse. */
  readWarehouseSecret: ReadWarehouseSecret;
} {
  const { secretReferences, connectors, log } = dependencies;
  const masking = new Masking();
  const use = createConnectorUse(work, place, context, dependencies, masking);
  const readSecret: ReadWarehouseSecret = async (name, key, onFound) => {
    const secret = await secretReferences.read(work, name, context.kill, key, onFound);
    log.info('secret read for a run', { workId: work.workId, secretReference: name });
    masking.add(secret);
    context.conceal((text) => masking.mask(text));
    return secret;
  };
  return {
    readSecret: (name) => readSecret(name),
    readWarehouseSecret: readSecret,
    conceal: (text) => masking.conceal(text),
    openEndpoint: (opened) => connectors.open(opened, use),
    download: connectors.download,
    stores: {
      open: (address) => connectors.openStore(address, use),
      fetch: (options) => connectors.fetchObject(options, place.projectId),
      convert: (request, signal) => connectors.convertFile(request, place.projectId, signal),
    },
  };
}
