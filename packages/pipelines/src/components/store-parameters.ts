/** The parameters by which components reach object stores. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Cloud, StoreAccess, StoreCredentials } from '../stores/store-address.ts';
import { choiceParameter, textParameter, yesNoParameter } from './definition/declared-parameters.ts';

export const storeParameters = {
  authentication: choiceParameter(
    'Credentials: those that `credentials` names, or else the project’s connection of the type CLOUD_PLATFORM_CREDENTIALS. Machine role: the role of the agent’s machine, if its operator allows it. None: the store is public.',
    ['Credentials', 'Machine role', 'None'],
    { standard: 'Credentials' },
  ),
  credentials: textParameter(
    'The name of a [secret reference](../../secrets.md) whose value is a JSON object, for S3 `{"accessKeyId": …, "secretAccessKey": …}`.',
  ),
  region: textParameter('The region of the bucket. Empty: the store says which.'),
  endpoint: textParameter(
    'The address of a server with the same interface, such as https://minio.example.com. Empty: the vendor’s.',
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

/** @throws ParameterError */
export function readStoreRole(parameters: Parameters): string | undefined {
  const role = parameters.optionalText('iamRoleArn')?.trim();
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
export function readStoreAccess(parameters: Parameters): StoreAccess {
  const endpoint = readEndpoint(parameters);
  const region = parameters.optionalText('region')?.trim();
  if (region !== undefined && !/^[a-z0-9-]{2,40}$/.test(region))
    throw new ParameterError(`"region" is ${JSON.stringify(region)}: write it as eu-central-1`);
  const pathStyle = parameters.optionalText('pathStyle');
  const credentials = readCredentials(parameters);
  return {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { pathStyle: parameters.yes('pathStyle', true) }),
    credentials,
  };
}

function readCredentials(parameters: Parameters): StoreAccess['credentials'] {
  const word = parameters.optionalText('authentication');
  if (word !== undefined && /^storage[ _-]?integration$/i.test(word.trim()))
    throw new ParameterError(
      `"authentication" is ${word}, which belongs to a vendor’s warehouse: set it to Credentials or Machine role`,
    );
  const kinds = {
    Credentials: 'credentials',
    'Machine role': 'machine',
    'Instance role': 'machine',
    None: 'nobody',
  } as const;
  const kind = parameters.choice('authentication', kinds, 'credentials');
  const name = parameters.optionalText('credentials')?.trim();
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
