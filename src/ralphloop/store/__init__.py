"""Every file that ralphloop writes."""
