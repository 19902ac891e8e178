/** The reason of an aborted `cancel` signal: who asked to end the run. */
export class Cancellation extends Error {
  readonly requestedBy: string | undefined;

  constructor(requestedBy?: string) {
    super(describeCancellation(requestedBy));
    this.requestedBy = requestedBy;
  }
}

export function describeCancellation(requestedBy: string | undefined): string {
  return requestedBy === undefined ? 'cancelled' : `cancelled by ${JSON.stringify(requestedBy)}`;
}

export function getCanceller(signal: AbortSignal): string | undefined {
  return signal.reason instanceof Cancellation ? signal.reason.requestedBy : undefined;
}
