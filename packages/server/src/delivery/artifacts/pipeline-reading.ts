/** What reading a pipeline file comes to, wherever it happens: here, or in the thread (pipeline-reader.ts). */
import { outlineFile, type PipelineOutline, type PipelineSyntaxError } from '@headgate/pipelines';

export interface ReadingOrder {
  path: string;
  text: string;
  /** Notes that the outline may hold. */
  most: number;
}

export type ReadPipeline =
  | { outline: PipelineOutline; fault?: undefined }
  | { outline?: undefined; fault: string };

export function readPipeline({ path, text, most }: ReadingOrder): ReadPipeline {
  const { outline, error } = outlineFile(path, text, most);
  return outline === undefined ? { fault: sentence(error) } : { outline };
}

function sentence({ line, column, message }: PipelineSyntaxError): string {
  return `The pipeline cannot be read: line ${line}, column ${column}: ${message}`.slice(0, 2_000);
}
