/** The parameters by which components reach object stores. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { Cloud, StoreAccess, StoreCredentials } from '../stores/store-address.ts';
import { choiceParameter, textParameter, yesNoParameter } from './definition/declared-parameters.ts';

export interface StoreKind {
  /** How the types of its components begin. */
  type: string;
  /** The parameter with the address. */
  prefix: string;
  name: string;
  /** The address of a store of examples. */
  example: string;
}

export const storeKinds = {
  s3: { type: 's3', prefix: 's3ObjectPrefix', name: 'S3', example: 's3://example-lake' },
  azure: {
    type: 'azure-blob-storage',
    prefix: 'azureStorageLocation',
    name: 'Azure Blob Storage',
    example: 'azure://examplelake.blob.core.windows.net',
  },
  google: {
    type: 'google-cloud-storage',
    prefix: 'gcsObjectPrefix',
    name: 'Google Cloud Storage',
    example: 'gs://example-lake',
  },
} as const satisfies Record<string, StoreKind>;

export const stageParameter = textParameter('Only [Custom]: unloads take no stage.', {
  standard: '[Custom]',
});

export const storeParameters = {
  authentication: choiceParameter(
    'Credentials: those that `credentials` names, or else the project’s connection of the type CLOUD_PLATFORM_CREDENTIALS. Machine role: the role of the agent’s machine, if its operator allows it. None: the store is public. Storage Integration: in a SNOWFLAKE project, the one that `storageIntegration` names.',
    ['Credentials', 'Machine role', 'None', 'Storage Integration'],
    { standard: 'Credentials' },
  ),
  credentials: textParameter(
    'The name of a [secret reference](../../secrets.md) whose value is a JSON object, for S3 `{"accessKeyId": …, "secretAccessKey": …}`. For SFTP also a password or a private key.',
  ),
  region: textParameter('The region of the bucket. Empty: the store says which.'),
  endpoint: textParameter(
    'The address of a server with the same interface, such as https://minio.example.com. Empty: the vendor’s.',
  ),
  hostKey: textParameter(
    'The key of the SFTP server, such as `SHA256:…` as `ssh-keygen -lf` prints it, or several with commas between them. The credentials may have it instead.',
  ),
  pathStyle: yesNoParameter(
    'Whether the name of the bucket is in the path of addresses and not in their host. Without `endpoint`: No.',
    'Yes',
  ),
};

/** Of S3 only. */
export const roleParameters = {
  iamRoleArn: textParameter(
    'In a REDSHIFT project: the role by which the warehouse reaches S3, such as arn:aws:iam::123456789012:role/load, or default. Empty: by the credentials.',
  ),
};

/** Of a warehouse that has integrations. Elsewhere it has no effect. */
export const storeIntegration = {
  storageIntegration: textParameter(
    'In a SNOWFLAKE project: the storage integration by which Snowflake reaches the store. It is used if `authentication` is Storage Integration, or if neither `authentication` nor `credentials` is there.',
  ),
};

/** Stages and file formats of a vendor’s warehouse are not here. @throws ParameterError */
export function refuseNamed(
  parameters: Parameters,
  name: 'stage' | 'format',
  what: string,
  remedy: string,
): void {
  const value = parameters.optionalText(name);
  if (value !== undefined && value !== '[Custom]')
    throw new ParameterError(
      `"${name}" is ${value}, ${what} of a vendor’s warehouse: set it to [Custom] and give ${remedy}`,
    );
}

export const refuseStage = (parameters: Parameters): void =>
  refuseNamed(parameters, 'stage', 'a stage', 'the address of the objects');

/** What one of two places has for itself. */
export interface StoreSide {
  readonly username?: string | undefined;
  /** The name of a secret reference. */
  readonly credentials?: string | undefined;
}

const isIntegration = (word: string | undefined) => /^storage[ _-]?integration$/i.test(word?.trim() ?? '');

/** The storage integration of Snowflake. @throws ParameterError */
function readIntegration(parameters: Parameters): string | undefined {
  const [authentication, credentials, name] = ['authentication', 'credentials', 'storageIntegration'].map(
    (each) => parameters.optionalText(each)?.trim(),
  );
  if (isIntegration(authentication)) return name ?? parameters.text('storageIntegration');
  return authentication === undefined && credentials === undefined ? name : undefined;
}

/** @throws ParameterError */
export function readStoreRole(
  parameters: Parameters,
  { stores }: Pick<Dialect, 'stores'>,
): string | undefined {
  const role = parameters.optionalText('iamRoleArn')?.trim();
  if (stores === 'snowflake') {
    if (role === undefined) return readIntegration(parameters);
    throw new ParameterError(
      '"iamRoleArn" is for the warehouse REDSHIFT: clear it, and name credentials or a storage integration',
    );
  }
  // The check of a pipeline knows no warehouse, so that others refuse it at the run.
  if (isIntegration(parameters.optionalText('authentication'))) {
    if (stores === undefined) return readIntegration(parameters);
    throw new ParameterError(
      '"authentication" is Storage Integration, which is for the warehouse SNOWFLAKE: set it to Credentials, or set "iamRoleArn"',
    );
  }
  // Roles that are assumed one after the other are separated by commas.
  if (
    role === undefined ||
    /^(?:default|arn:aws[\w-]{0,20}:iam::\d{12}:role\/[\w+=,.@/:-]{1,500})$/i.test(role)
  )
    return role;
  throw new ParameterError(
    `"iamRoleArn" is ${JSON.stringify(role)}: write it as arn:aws:iam::123456789012:role/load, or default`,
  );
}

/** @throws ParameterError */
export function readStoreAccess(
  parameters: Parameters,
  side: StoreSide = {},
  takesIntegration = false,
): StoreAccess {
  const endpoint = readEndpoint(parameters);
  const region = parameters.optionalText('region')?.trim();
  if (region !== undefined && !/^[a-z0-9-]{2,40}$/.test(region))
    throw new ParameterError(`"region" is ${JSON.stringify(region)}: write it as eu-central-1`);
  const pathStyle = parameters.optionalText('pathStyle');
  const credentials = readCredentials(parameters, side.credentials, takesIntegration);
  const hostKey = parameters.optionalText('hostKey')?.trim();
  return {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(hostKey === undefined ? {} : { hostKey }),
    ...(side.username === undefined ? {} : { username: side.username }),
    ...(pathStyle === undefined ? {} : { pathStyle: parameters.yes('pathStyle', true) }),
    credentials,
  };
}

function readCredentials(
  parameters: Parameters,
  own: string | undefined,
  takesIntegration: boolean,
): StoreAccess['credentials'] {
  const word = parameters.optionalText('authentication');
  if (isIntegration(word) && !takesIntegration)
    throw new ParameterError(
      `"authentication" is ${word}, by which only Snowflake itself reaches a store: set it to Credentials or Machine role`,
    );
  const kinds = {
    Credentials: 'credentials',
    'Machine role': 'machine',
    'Instance role': 'machine',
    None: 'nobody',
    ...(isIntegration(word) ? { [word ?? '']: 'nobody' as const } : {}),
  } as const;
  const kind = parameters.choice('authentication', kinds, 'credentials');
  const name = own ?? parameters.optionalText('credentials')?.trim();
  if (kind !== 'credentials' && name !== undefined)
    throw new ParameterError(
      `"credentials" is given, but "authentication" is ${word}: clear it, or set "authentication" to Credentials`,
    );
  return (cloud: Cloud): StoreCredentials => {
    if (kind !== 'credentials') return { from: kind };
    return name === undefined ? { from: 'connection', cloud } : { from: 'reference', name };
  };
}

function readEndpoint(parameters: Parameters): string | undefined {
  const text = parameters.optionalText('endpoint')?.trim();
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isPlain = url !== null && url.pathname === '/' && url.search === '' && url.username === '';
  if (url !== null && isPlain && /^https?:$/.test(url.protocol)) return url.origin;
  throw new ParameterError(
    `"endpoint" is ${JSON.stringify(text)}: write the address of the server without a path, such as https://minio.example.com`,
  );
}
