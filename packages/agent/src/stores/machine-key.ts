/** The access key of the machine's role, by the standard chain of AWS. Its library is loaded when it is used. */
import { ConnectorError } from '@headgate/pipelines';
import type { AccessKey } from './sigv4.ts';

type Provider = () => Promise<AccessKey>;

let provider: Provider | undefined;

async function load(): Promise<Provider> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node').catch(() => {
    throw new ConnectorError(
      'the agent has no library for the role of its machine: install @aws-sdk/credential-provider-node',
    );
  });
  return defaultProvider({ maxRetries: 2, timeout: 5_000 });
}

/** The library renews keys that expire. @throws ConnectorError if the machine has no role */
export async function readMachineKey(): Promise<AccessKey> {
  // A failure is not kept: the library may be installed meanwhile.
  provider ??= await load();
  const read = provider;
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await read();
    return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConnectorError(
      `the machine of the agent has no role that can be used: ${reason.slice(0, 200)}`,
    );
  }
}
