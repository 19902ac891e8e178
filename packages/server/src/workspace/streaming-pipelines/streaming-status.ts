/** The states of a streaming pipeline, and what a command does in each. Pure. */
import type { StreamingCommand, StreamingStatus } from '@headgate/contract';

type Move =
  | { to: StreamingStatus; problem?: undefined }
  | { problem: 'streaming-not-supported' | 'streaming-pipeline-not-running' };

export const moves: Readonly<Record<StreamingCommand, Readonly<Record<StreamingStatus, Move>>>> = {
  START: {
    stopped: { problem: 'streaming-not-supported' },
    running: { problem: 'streaming-not-supported' },
  },
  STOP: {
    stopped: { problem: 'streaming-pipeline-not-running' },
    running: { to: 'stopped' },
  },
};
