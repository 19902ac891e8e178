/** Connectors of the agent: opens endpoints of profiles for runs and tests, and downloads files. */
import { createHash } from 'node:crypto';
import type { Secret } from '@headgate/contract';
import { createEgress, type EgressAllow, type Resolve } from '@headgate/contract/egress';
import {
  type ConnectorEndpoint,
  type Converted,
  chooseAuthentication,
  type EndpointValues,
  type StoreAddress,
} from '@headgate/pipelines';
import type { ConversionRequest, ConvertFile } from '../conversion/converter.ts';
import type { WorkKey } from '../session/outbox.ts';
import type { FetchOptions } from '../stores/fetched-file.ts';
import type { MachineRole } from '../stores/machine-role.ts';
import type { FetchedFile, ObjectStore } from '../stores/object-store.ts';
import { realTime, type Time } from '../time.ts';
import { createTurns } from '../turns.ts';
import { createDownloads, type Downloads } from './download.ts';
import { createEndpointCall, type EndpointCall } from './endpoint-call.ts';
import { createExchange, type ExchangeBounds } from './exchange.ts';
import { createOAuthTokens, type OAuthTokens, type OAuthTokensOptions } from './oauth-tokens.ts';
import { createPaces } from './rate.ts';

export interface ConnectorUse {
  work: WorkKey;
  projectId: string;
  environmentName: string;
  readSecret(name: string, key?: string): Promise<Secret>;
  /** The secret of the project's connection to a cloud. */
  readCloudSecret(cloud: string): Promise<Secret>;
  /** Called with each token before it is used, so that it can be masked. */
  onToken(token: Secret): void;
  conceal(text: string): string;
  signal: AbortSignal;
  /** Its response is read by the agent itself, so it is small. */
  isTest?: boolean;
}

export interface OpenedEndpoint {
  endpoint: ConnectorEndpoint;
  connection: Readonly<Record<string, unknown>>;
  values: EndpointValues;
}

export interface Connectors {
  /** @throws ConnectorError if the connection does not fit the endpoint */
  open(opened: OpenedEndpoint, use: ConnectorUse): Promise<EndpointCall & { close(): void }>;
  download: Downloads['download'];
  tokens: OAuthTokens;
  /** @throws ConnectorError if the credentials do not fit the store */
  openStore(address: StoreAddress, use: ConnectorUse): Promise<ObjectStore>;
  /** @param project takes its turn among the others of the agent */
  fetchObject(options: Omit<FetchOptions, 'bounds' | 'time'>, project: string): Promise<FetchedFile[]>;
  /** Writes a file as lines of JSON. */
  convertFile(
    request: Omit<ConversionRequest, 'fileBytes'>,
    project: string,
    signal: AbortSignal,
  ): Promise<Converted>;
}

export interface ConnectorsOptions extends Omit<OAuthTokensOptions, 'exchange' | 'time'> {
  allow: EgressAllow;
  /** Undefined: pipelines may not use the role of the agent's machine. */
  machineRole?: MachineRole | undefined;
  resolve?: Resolve;
  bounds?: Partial<ConnectorBounds>;
  time?: Time;
}

export interface ConnectorBounds extends ExchangeBounds {
  /** Of all responses of one load. */
  totalBytes: number;
}

const defaultBounds: ConnectorBounds = {
  responseBytes: 16 * 1_048_576,
  advice: ' of a page: ask for smaller pages',
  answerMilliseconds: 60_000,
  idleMilliseconds: 30_000,
  totalMilliseconds: 300_000,
  totalBytes: 10 * 1_024 * 1_048_576,
};
/** A large file over a slow line. */
const downloadMilliseconds = 4 * 60 * 60_000;
/** Of an object as it is stored. */
const objectBytes = 10 * 1_024 * 1_048_576;
/** Objects that all runs of the agent fetch at the same time, and those of one project. The same of conversions. */
const [fetchPlaces, fetchesOfOne] = [24, 8];
const [conversionPlaces, conversionsOfOne] = [3, 2];
const testBytes = 2 * 1_048_576;
/** A token is small. */
const tokenBytes = 1_048_576;

export function createConnectors(options: ConnectorsOptions): Connectors {
  const { allow, resolve, time = realTime } = options;
  const bounds = { ...defaultBounds, ...options.bounds };
  const egress = createEgress({
    allow,
    setting: 'HEADGATE_AGENT_EGRESS_ALLOW',
    operator: 'the operator of the agent',
    resolve,
  });
  const paces = createPaces(time);
  const tokens = createOAuthTokens({
    ...options,
    exchange: createExchange(egress, { ...bounds, responseBytes: tokenBytes }),
    time,
  });

  const downloads = createDownloads(egress, {
    ...bounds,
    responseBytes: bounds.totalBytes,
    totalMilliseconds: downloadMilliseconds,
  });

  const fetchTurns = createTurns(fetchPlaces, fetchesOfOne);
  let convert: ConvertFile | undefined;
  const storeTime = { ...time, date: () => new Date() };

  return {
    tokens,
    async openStore(address, use) {
      const { openStore } = await import('../stores/open-store.ts');
      const limits = {
        responseBytes: objectBytes,
        totalMilliseconds: downloadMilliseconds,
        sockets: fetchesOfOne,
      };
      const exchange = createExchange(egress, { ...bounds, ...limits, advice: ' of an object' });
      return openStore(address, {
        exchange,
        egress,
        time: storeTime,
        machine: options.machineRole && {
          ...options.machineRole,
          readKey: async () => (await import('../stores/machine-key.ts')).readMachineKey(),
        },
        secrets: {
          readSecret: use.readSecret,
          readCloudSecret: use.readCloudSecret,
          onValue: use.onToken,
        },
      });
    },
    async fetchObject(request, project) {
      const { fetchObject } = await import('../stores/fetched-file.ts');
      return fetchTurns.take(project, request.signal, () =>
        fetchObject({ ...request, bounds: { fileBytes: bounds.totalBytes }, time: storeTime }),
      );
    },
    async convertFile(request, project, signal) {
      const { createConverter } = await import('../conversion/converter.ts');
      convert ??= createConverter(createTurns(conversionPlaces, conversionsOfOne));
      return convert({ ...request, fileBytes: bounds.totalBytes }, project, signal);
    },
    download: downloads.download,
    async open({ endpoint, connection, values }, use) {
      const exchange = createExchange(
        egress,
        use.isTest === true ? { ...bounds, responseBytes: testBytes } : bounds,
      );
      const call = createEndpointCall({
        endpoint,
        authentication: chooseAuthentication(endpoint, connection),
        values,
        sources: {
          readSecret: use.readSecret,
          async readToken(name, refused) {
            const token = await tokens.read(use.work, name, refused, use.signal);
            use.onToken(token);
            return token;
          },
        },
        exchange,
        paces,
        time,
        paceKey: nameCaller(use, connection),
        totalBytes: bounds.totalBytes,
        conceal: use.conceal,
      });
      return { ...call, close: exchange.close };
    },
  };
}

/** Quotas of APIs belong to a credential. */
function nameCaller({ projectId, environmentName }: ConnectorUse, connection: object): string {
  return createHash('sha256')
    .update(JSON.stringify([projectId, environmentName, connection]))
    .digest('hex');
}
