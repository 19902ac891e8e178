/**
 * What reading a pipeline file comes to, wherever it happens: here, or in the thread (pipeline-reader.ts).
 */
import { describeSyntaxError, outlineFile, type PipelineOutline } from '@headgate/pipelines';

export interface ReadingOrder {
  path: string;
  text: string;
  /** Notes that the outline may hold. */
  most: number;
}

/** Characters of a fault. */
const faultLimit = 1_900;

/** `fault`: why it cannot be read, with line and column where it is a place in the file. */
export type ReadPipeline =
  | { outline: PipelineOutline; fault?: undefined }
  | { outline?: undefined; fault: string };

export function readPipeline({ path, text, most }: ReadingOrder): ReadPipeline {
  const { outline, error } = outlineFile(path, text, most);
  return outline === undefined ? { fault: describeSyntaxError(error).slice(0, faultLimit) } : { outline };
}
