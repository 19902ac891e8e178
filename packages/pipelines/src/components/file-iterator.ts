/** Runs its iterationTarget once for each file of a folder. */
import { checkPattern } from '../expressions/linear-pattern.ts';
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import { trimBoth } from '../format/trims.ts';
import { isStoreAddress, readStorePlace } from '../stores/store-address.ts';
import type { FileSearch, FoundFile, Iteration, OrchestrationDefinition } from './definition/component.ts';
import {
  numberParameter,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import {
  checkIterationMode,
  iterationNoEffect,
  iterationParameters,
  readIterationMode,
} from './iteration-mode.ts';
import { readStoreAccess, storeParameters } from './store-parameters.ts';

const attributes: Readonly<Record<string, (file: FoundFile) => string>> = {
  'Base Folder': ({ folder }) => folder,
  Subfolder: ({ subfolder }) => subfolder,
  Filename: ({ name }) => name,
  'Last Modified': ({ lastModified }) => lastModified,
  Size: ({ size }) => String(size),
};

export const fileIterator: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  about:
    'Runs its `iterationTarget` once for each file of a folder, in the order of their paths. The folder is looked up in the version and in the agent’s files folder; of two files with the same path the version’s counts. Or of a folder of an [object store](../../stores.md), such as `s3://bucket/folder`.',
  group: 'iterators',
  parameters: {
    inputDataType: textParameter(
      'Where the files are: Local, S3, Azure Blob Storage, Google Cloud Storage or SFTP. The address says it too.',
      {
        standard: 'Local',
      },
    ),
    inputDataUrl1: textParameter(
      'The folder: a path, such as `data/in` or `file://data/in`, or an address, such as `s3://bucket/in`. `.`: all folders.',
      {
        required: true,
        otherNames: ['inputDataUrl'],
      },
    ),
    ...storeParameters,
    filterRegex: textParameter(
      'A regular expression in the syntax of RE2, without look-around and back-references, that the whole name or the whole path of a file must match. Empty: all files.',
    ),
    recursive: yesNoParameter('Whether files of subfolders count too.', 'No'),
    maxIterations: numberParameter('At most how many files. The message says how many were left out.'),
    variables: rowsParameter(
      'Which variable gets which attribute: `Base Folder`, `Subfolder`, `Filename`, `Last Modified`, `Size` (in bytes).',
      ['variable', 'attribute'],
      { required: true, variable: { as: 'scalar', cell: 0 } },
    ),
    ...iterationParameters,
  },
  noEffect: [...iterationNoEffect, 'inputDataUrl2', 'inputDataUrl3', 'ignoreHidden'],
  example: `type: file-iterator
iterationTarget: Load one
parameters:
  inputDataUrl1: data/in
  filterRegex: ".*[.]csv"
  recursive: "Yes"
  variables:
    - [folder, Subfolder]
    - [fileName, Filename]`,
  plan({ parameters, component }) {
    const mode = readIterationMode(parameters, component);
    const search = readSearch(parameters);
    const mapping = readAttributes(parameters);
    const list = (file: FoundFile): Iteration =>
      mapping.map(([attribute, variable]) => [variable, attribute(file)] as const);
    return { action: 'iterate-files', search, list, ...mode };
  },
  check({ parameters }) {
    readSearch(parameters);
    readAttributes(parameters);
    checkIterationMode(parameters);
  },
};

const otherPlace =
  'is not supported: name a path of the agent’s files folder, or a folder of an object store, such as s3://bucket/in';

function readSearch(parameters: Parameters): FileSearch {
  const type = parameters.optionalText('inputDataType')?.trim();
  const url = parameters.text('inputDataUrl1').trim();
  if (isStoreAddress(url)) return readStoreSearch(parameters, url);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'file')
    throw new ParameterError(`"inputDataUrl1" is ${url}: ${scheme}:// ${otherPlace}`);
  if (type !== undefined && scheme === undefined && !/^(?:local|file|files|folder)\b/i.test(type))
    throw new ParameterError(`"inputDataType" is ${type}, which ${otherPlace}`);
  const path = url.slice(scheme === undefined ? 0 : 'file://'.length);
  const folder = trimBoth(path, '/').replace(/^\.$/, '');
  return { ...readSelection(parameters), folder };
}

function readSelection(parameters: Parameters): Omit<FileSearch, 'folder'> {
  const limit = parameters.optionalInteger('maxIterations');
  if (limit !== undefined && limit < 0)
    throw new ParameterError(`"maxIterations" is ${limit}: it must be 0 or more`);
  const pattern = parameters.optionalText('filterRegex') ?? '';
  checkPattern('filterRegex', pattern);
  return {
    pattern,
    recursive: parameters.yes('recursive', false),
    limit,
  };
}

function readStoreSearch(parameters: Parameters, url: string): FileSearch {
  const folder = url.endsWith('/') ? url : `${url}/`;
  const place = readStorePlace('inputDataUrl1', folder, readStoreAccess(parameters));
  return { ...readSelection(parameters), folder: url, place };
}

/** `[variable, attribute]`. */
function readAttributes(parameters: Parameters) {
  const mapping = parameters.rows('variables', 2).map((row) => {
    const [variable, expected] = [readCellText(row, 0), readCellText(row, 1)];
    const words = Object.keys(attributes);
    const find = (name: string) => words.find((each) => normalize(each) === normalize(name));
    const word = find(expected);
    if (word === undefined)
      throw new ParameterError(
        find(variable) === undefined
          ? `"variables" names the attribute "${expected}", which a file does not have: use one of ${words.join(', ')}`
          : `"variables" has the row [${variable}, ${expected}]: write the variable first, [${expected}, ${variable}]`,
      );
    return [attributes[word] as (file: FoundFile) => string, variable] as const;
  });
  if (mapping.length === 0)
    throw new ParameterError(
      '"variables" is empty, so every iteration would run the same: add a row such as [fileName, Filename]',
    );
  return mapping;
}

const normalize = (word: string) => word.toLowerCase().replaceAll(/[\s_-]/g, '');
