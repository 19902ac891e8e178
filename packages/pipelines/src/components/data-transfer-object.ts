/** Copies a file from one place to another. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { ObjectTransfer } from '../stores/object-load.ts';
import { isStoreAddress, readStorePlace } from '../stores/store-address.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { textParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { isFileAddress } from './file-format.ts';
import { readStoreAccess, storeParameters } from './store-parameters.ts';

const numbered = (name: string) => Array.from({ length: 9 }, (_, index) => `${name}${index + 1}`);

export const dataTransferObject: OrchestrationDefinition = {
  kind: 'orchestration',
  changesElsewhere: 'writes to another place',
  about:
    'Copies a file from one place to another: from an https address, an [object store](../../stores.md), an SFTP server or the agent’s files folder, to an object store, an SFTP server or the files folder. The target is there when it is complete; one that exists is replaced.',
  group: 'files',
  parameters: {
    sourceType: textParameter('Where the file is. The address says it too.'),
    sourceUrl: textParameter(
      'The file: an https address, an address such as s3://bucket/in/a.csv, or a path of the agent’s files folder.',
      { required: true, otherNames: numbered('sourceUrl') },
    ),
    sourceUsername: textParameter(
      'The user of an SFTP server, if its address has none. Else it must be empty: https addresses are fetched without credentials.',
      { otherNames: numbered('sourceUsername') },
    ),
    sourcePassword: textParameter(
      'The name of the [secret reference](../../secrets.md) of the password or the private key of an SFTP server. Else it must be empty.',
      { otherNames: numbered('sourcePassword') },
    ),
    sourceCredentials: textParameter('As `credentials`, for the source alone.'),
    performCertificateValidation: yesNoParameter('Only Yes is supported.', 'Yes'),
    unpackZipFile: yesNoParameter(
      'Whether a zip archive is unpacked: its files get names that begin with the target’s and a slash.',
      'No',
    ),
    targetType: textParameter('Where it goes. The address says it too.'),
    targetUrl: textParameter(
      'The folder of the target: an address such as s3://bucket/out, or a path of the agent’s files folder. Empty or `.`: the files folder itself.',
      { otherNames: numbered('targetUrl') },
    ),
    targetUsername: textParameter('The user of an SFTP server, if its address has none.', {
      otherNames: numbered('targetUsername'),
    }),
    targetPassword: textParameter('As `sourcePassword`, for the target.', {
      otherNames: numbered('targetPassword'),
    }),
    targetCredentials: textParameter('As `credentials`, for the target alone.'),
    targetObjectName: textParameter('The name of the target in its folder.', { required: true }),
    gzipData: yesNoParameter('Whether the target is compressed by gzip.', 'No'),
    ...storeParameters,
  },
  noEffect: ['encryption', 'accessControlListOptions', 'kmsKeyId', 'masterKey'],
  example: `type: data-transfer-object
parameters:
  sourceType: HTTPS
  sourceUrl: https://example.com/orders.csv
  targetType: S3
  targetUrl: s3://example-lake/in
  targetObjectName: orders.csv
  credentials: lake-writer`,
  plan({ parameters }) {
    return { action: 'transfer-object', ...readTransfer(parameters) };
  },
};

/** @throws ParameterError */
function readTransfer(parameters: Parameters): ObjectTransfer {
  if (!parameters.yes('performCertificateValidation', true))
    throw new ParameterError(
      '"performCertificateValidation" is No, which is not supported: set it to Yes, and give the server a certificate that is valid',
    );
  for (const side of ['source', 'target'] as const)
    for (const name of [`${side}Username`, `${side}Password`])
      if (parameters.optionalText(name) !== undefined && !isSftp(parameters.optionalText(`${side}Url`)))
        throw new ParameterError(
          `"${name}" is given, but only SFTP has users: clear it; a store has credentials, and an API a connector profile, which keeps secrets`,
        );
  return {
    source: readSource(parameters),
    target: readTarget(parameters),
    unpacks: parameters.yes('unpackZipFile', false),
    gzips: parameters.yes('gzipData', false),
  };
}

const isSftp = (address = '') => /^sftp:/i.test(address.trim());

/** How the store of one side is reached. */
const readAccess = (parameters: Parameters, side: 'source' | 'target') =>
  readStoreAccess(parameters, {
    username: parameters.optionalText(`${side}Username`)?.trim(),
    credentials: (
      parameters.optionalText(`${side}Password`) ?? parameters.optionalText(`${side}Credentials`)
    )?.trim(),
  });

/** Types of places whose addresses have no scheme here. */
const folders = /^(?:local|folder|files?)\b/i;

function readSource(parameters: Parameters): ObjectTransfer['source'] {
  const url = parameters.text('sourceUrl').trim();
  if (isFileAddress(url)) return { address: url };
  if (isStoreAddress(url))
    return { place: readStorePlace('sourceUrl', url, readAccess(parameters, 'source')) };
  return { path: readPath('sourceUrl', url, 'sourceType', parameters) };
}

function readTarget(parameters: Parameters): ObjectTransfer['target'] {
  const url = (parameters.optionalText('targetUrl') ?? '.').trim();
  const name = parameters.text('targetObjectName').trim();
  const joined = url === '.' ? name : `${url.endsWith('/') ? url : `${url}/`}${name}`;
  if (isStoreAddress(joined))
    return { place: readStorePlace('targetUrl', joined, readAccess(parameters, 'target')) };
  if (isFileAddress(url))
    throw new ParameterError(
      `"targetUrl" is ${url}: a file cannot be sent to an address of http; use an object store or a folder`,
    );
  return { path: readPath('targetUrl', joined, 'targetType', parameters) };
}

function readPath(parameter: string, url: string, typeParameter: string, parameters: Parameters): string {
  const type = parameters.optionalText(typeParameter)?.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  const path = scheme === 'file' ? url.slice('file://'.length) : url;
  const isOther = scheme !== undefined ? scheme !== 'file' : type !== undefined && !folders.test(type);
  if (!isOther) return path;
  throw new ParameterError(
    `"${scheme === undefined ? typeParameter : parameter}" is ${scheme === undefined ? type : url}, which is not supported: use https, sftp, S3, Azure Blob Storage, Google Cloud Storage or a path of the agent’s files folder, and write the address with its scheme, such as s3://bucket/in`,
  );
}
