/** The result of reading a pipeline file, here or in the thread (pipeline-reader.ts). */
import { describeSyntaxError, outlineFile, type PipelineOutline, type Unreadable } from '@headgate/pipelines';

export interface ReadingOrder {
  path: string;
  text: string;
  /** Limit of the notes in the outline. */
  most: number;
}

/** Limit of a fault in characters. */
const faultLimit = 1_900;

/** `fault` is why it cannot be read. */
export type ReadPipeline =
  | { outline: PipelineOutline; fault?: undefined }
  | { outline?: undefined; fault: Unreadable };

export function readPipeline({ path, text, most }: ReadingOrder): ReadPipeline {
  const { outline, error } = outlineFile(path, text, most);
  if (outline !== undefined) return { outline };
  return { fault: { reason: describeSyntaxError(error).slice(0, faultLimit), line: error.line } };
}
