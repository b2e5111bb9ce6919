export { type Flow, flowClassifier } from './classifier.ts';
export { InFlight, type InFlightOptions, type InFlightState, type RequestClass } from './in-flight.ts';
export { lineOf } from './line.ts';
export { nominalSeats } from './nominal-seats.ts';
export { OpenCount, type OpenCountOptions } from './open-count.ts';
