/** The states of an AI task. */
import type { AiTaskStatus } from '@headgate/contract';

/** From a state to those that it can move to. */
export const taskMoves: Readonly<Record<AiTaskStatus, readonly AiTaskStatus[]>> = {
  RUNNING: ['STOPPING', 'STOPPED', 'ERRORED'],
  STOPPING: ['STOPPED', 'ERRORED'],
  STOPPED: ['RUNNING'],
  ERRORED: ['RUNNING'],
};

export function canMove(from: AiTaskStatus, to: AiTaskStatus): boolean {
  return taskMoves[from].includes(to);
}

/** The key of wake-ups for servers that look for tasks. */
export const tasksKey = 'ai-tasks';
/** The key of wake-ups for those that follow one task. */
export const keyOfTask = (taskId: string): string => `ai-task:${taskId}`;
/** The key of wake-ups for the server that has the task, when it shall stop. */
export const stopKeyOf = (taskId: string): string => `ai-stop:${taskId}`;
/** The key of wake-ups for the server that asks the model, when a follower on another server wants the text. */
export const followKeyOf = (taskId: string): string => `ai-text:${taskId}`;
