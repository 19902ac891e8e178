/** The parameters shared by file-load and file-unload. */
import type { Parameters } from '../expressions/parameters.ts';
import type { FileFormat } from '../sql/dialect/dialect.ts';
import { choiceParameter, textParameter, yesNoParameter } from './definition/declared-parameters.ts';

/** Whether the source of a file is an address, not a path. */
export const isFileAddress = (source: string): boolean => /^https?:\/\//i.test(source);

export const fileFormatParameters = {
  fileType: choiceParameter('The format of the file.', ['CSV', 'JSON', 'PARQUET'], { required: true }),
  header: yesNoParameter(
    'Whether the first line of a CSV file, or the first row of a sheet, has the names of the columns.',
    'Yes',
  ),
  delimiter: textParameter(
    'What separates the cells of a CSV file: a character, or tab, comma, semicolon or pipe.',
    {
      standard: ',',
    },
  ),
};

const delimiterWords: Readonly<Record<string, string>> = {
  tab: '\t',
  '\\t': '\t',
  comma: ',',
  semicolon: ';',
  pipe: '|',
};

export function readFileFormat(parameters: Parameters): FileFormat {
  const type = parameters.choice('fileType', { CSV: 'CSV', JSON: 'JSON', PARQUET: 'PARQUET' } as const);
  if (type !== 'CSV') return { type };
  const delimiter = parameters.optionalText('delimiter') ?? ',';
  return {
    type,
    header: parameters.yes('header', true),
    delimiter: delimiterWords[delimiter.toLowerCase()] ?? delimiter,
  };
}
