/** What the parts that start processes write to: the server's log, whose shape is pino's. */
export interface ProcessLog {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}
