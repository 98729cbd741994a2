/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

int output_enter_epoch(struct output *output, uint32_t epoch, int fd)
{
	if (fd < 0)
		return -EPROTO;
	struct tables tables;
	int result = tables_map(&tables, fd, &tables_capacity_default, true);
	close(fd);
	if (result)
		return result;
	if (output->writer) {
		tables_publish(output->writer);
		tables_close_epoch(output->writer);
		output_release(output);
	}
	output->tables = tables;
	output->writer = tables_writer_new(&output->tables);
	if (!output->writer)
		return -ENOMEM;
	output->epoch = epoch;
	output->wants_tables = false;
	return 0;
}

void output_release(struct output *output)
{
	if (!output->writer)
		return;
	tables_writer_free(output->writer);
	tables_unmap(&output->tables);
	output->writer = NULL;
}

static void publish_counts(struct child_status *status, struct round_counts *counts)
{
	status_add(&status->lost, counts->lost);
	status_add(&status->late, counts->late);
	status_add(&status->hurried, counts->hurried);
	status_add(&status->throttled, counts->throttled);
	status_add(&status->drained, counts->drained);
	status_add(&status->damaged, counts->damaged);
	status_add(&status->duplicates, counts->duplicates);
	status_add(&status->skipped, counts->skipped);
	status_add(&status->own, counts->own);
	status_add(&status->foreign, counts->foreign);
	status_add(&status->comm, counts->comm);
	status_add(&status->uid, counts->uid);
	status_add(&status->frames, counts->frames);
	*counts = (struct round_counts){0};
}

bool output_has_module(const struct output *output, const struct module *module)
{
	return module->epoch == output->epoch;
}

int output_add_module(struct output *output, struct module *module, struct module_id *id)
{
	if (!module) {
		*id = (struct module_id){0};
		return 0;
	}
	if (!output_has_module(output, module)) {
		struct module_row row = module->row;
		row.by_offset =
			output->by_offset && (row.kind == MODULE_FILE || row.kind == MODULE_VDSO);
		int result = tables_add_string(output->writer, module->path, strlen(module->path),
					       &row.path);
		if (!result)
			result = tables_add_module(output->writer, &row, &module->id);
		if (result)
			return result;
		module->epoch = output->epoch;
	}
	*id = module->id;
	return 0;
}

int output_add_frame(struct output *output, struct module *module, uint64_t address,
		     struct frame_id *id)
{
	struct module_id in;
	int result = output_add_module(output, module, &in);
	return result ? result : tables_add_frame(output->writer, in, address, id);
}

void output_publish(struct collector *collector)
{
	struct source *source = &collector->source;
	struct child_status *status = collector->status;
	/* Rows and samples first: what is given up must not be lost with us. */
	tables_publish(collector->output.writer);
	if (source->file)
		atomic_store_explicit(&status->published, source->taken, memory_order_release);
	for (size_t i = 0; i < source->nr_rings; i++)
		ring_publish_tail(&source->rings[i].ring);
	publish_counts(status, &collector->output.counts);
}
