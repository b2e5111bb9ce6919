/** An item that waits in a lane. Withdrawing it only marks it, which is cheap; it is skipped when its turn comes. */
export interface Ticket {
  readonly key: string;
  withdrawn: boolean;
}

interface Line {
  readonly fairness: string;
  tickets: Ticket[];
  /** The index of the first ticket: shifting the array would move all of it. */
  head: number;
}

/** First in, first out within one fairness key. The keys take turns, so that a busy one does not delay the others. */
export class Lane {
  readonly #lines = new Map<string, Line>();
  /** The lines in the order of their turns, from index `#turn`. */
  #order: Line[] = [];
  #turn = 0;

  push(ticket: Ticket, fairness: string): void {
    const line = this.#lines.get(fairness);
    if (line !== undefined) {
      line.tickets.push(ticket);
      return;
    }
    const made = { fairness, tickets: [ticket], head: 0 };
    this.#lines.set(fairness, made);
    this.#order.push(made);
  }

  take(): Ticket | undefined {
    while (this.#turn < this.#order.length) {
      const line = this.#order[this.#turn++]!;
      const ticket = next(line);
      // A line with more tickets moves to the end of the order.
      if (line.head < line.tickets.length) this.#order.push(line);
      else this.#lines.delete(line.fairness);
      this.#compact();
      if (ticket !== undefined) return ticket;
    }
    return undefined;
  }

  #compact(): void {
    if (this.#turn < 1024 || this.#turn * 2 < this.#order.length) return;
    this.#order = this.#order.slice(this.#turn);
    this.#turn = 0;
  }
}

function next(line: Line): Ticket | undefined {
  while (line.head < line.tickets.length) {
    const ticket = line.tickets[line.head++]!;
    if (line.head > 1024 && line.head * 2 > line.tickets.length) {
      line.tickets = line.tickets.slice(line.head);
      line.head = 0;
    }
    if (!ticket.withdrawn) return ticket;
  }
  return undefined;
}
